import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from 'node:crypto';

/** The prefix of a 32-byte Ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Signs with Ed25519. The key derives from the master key: all processes of an installation have
 * it, access to the database does not reveal it, and no second file can be lost. Signatures are
 * deterministic.
 */
export class ChainSigner {
  private readonly privateKey: KeyObject;
  private readonly publicKeyObject: KeyObject;
  /** DER (SubjectPublicKeyInfo) in base64, as `openssl pkey -pubin -inform DER` reads it. */
  readonly publicKey: string;

  /** @param seed 32 bytes. */
  constructor(seed: Buffer) {
    this.privateKey = createPrivateKey({
      key: Buffer.concat([PKCS8_PREFIX, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    this.publicKeyObject = createPublicKey(this.privateKey);
    this.publicKey = this.publicKeyObject
      .export({ format: 'der', type: 'spki' })
      .toString('base64');
  }

  /** In base64. */
  sign(text: string): string {
    return sign(null, Buffer.from(text), this.privateKey).toString('base64');
  }

  isSigned(text: string, signature: string): boolean {
    return verify(null, Buffer.from(text), this.publicKeyObject, Buffer.from(signature, 'base64'));
  }
}
