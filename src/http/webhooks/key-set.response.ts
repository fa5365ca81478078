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
  @Text({ description: 'Names the key in the header of a signature' })
  kid: string;
  @Text({ description: 'Modulus, base64url' })
  n: string;
  @Text({ description: 'Exponent, base64url' })
  e: string;
}

export class KeySetResponse implements PublicKeySet {
  @ApiProperty({ type: [PublicKeyResponse], description: 'The current key first' })
  keys: PublicKeyResponse[];
}

export const keySetJson = ({ keys }: PublicKeySet): KeySetResponse => ({
  keys: keys.map(({ kty, use, alg, kid, n, e }) => ({ kty, use, alg, kid, n, e })),
});
