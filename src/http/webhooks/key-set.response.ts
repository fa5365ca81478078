import { ApiProperty } from '@nestjs/swagger';
import type { PublicKey, PublicKeySet } from '../../webhooks/signing/signing-keys.js';
import { Text } from '../../presenting/answer-members.js';

/** A public RSA key (RFC 7517, 7518). */
export class PublicKeyResponse implements PublicKey {
  @Text({ enum: ['RSA'] })
  kty: 'RSA';
  @Text({ enum: ['sig'] })
  use: 'sig';
  @Text({ enum: ['RS256'] })
  alg: 'RS256';
  @Text()
  kid: string;
  @Text()
  n: string;
  @Text()
  e: string;
}

export class KeySetResponse implements PublicKeySet {
  @ApiProperty({ type: [PublicKeyResponse] })
  keys: PublicKeyResponse[];
}

export const keySetJson = ({ keys }: PublicKeySet): KeySetResponse => ({
  keys: keys.map(({ kty, use, alg, kid, n, e }) => ({ kty, use, alg, kid, n, e })),
});
