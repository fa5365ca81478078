import { createCipheriv, createDecipheriv } from 'node:crypto';
import { newBytes } from '../foundation/world.js';

/**
 * AES-256-GCM; the result is nonce, tag and ciphertext. `context` must be the same when opening.
 */
export function sealBytes(key: Buffer, plain: Buffer, context: string): Buffer {
  const nonce = newBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** @throws when key or context differ, or the bytes were changed. */
export function openBytes(key: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28));
  const plain = decipher.update(sealed.subarray(28));
  // Returns no bytes in this mode; it checks the tag, so nothing is returned before.
  decipher.final();
  return plain;
}

/** Encrypts for one purpose. The keys of a purpose replace each other; sealed bytes name theirs. */
export interface Sealer {
  /** @param context what the value belongs to; it cannot be opened elsewhere. */
  seal(plain: Buffer, context: string): Promise<Buffer>;
  /** @throws when the bytes were changed, or belong elsewhere. */
  open(sealed: Buffer, context: string): Promise<Buffer>;
}

const MARK = Buffer.from([0x00, 0x6b, 0x65, 0x79]);
const PREFIX_BYTES = MARK.length + 4;

/** What precedes bytes that were sealed with a purpose's key of this generation. */
export function prefixOf(generation: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  MARK.copy(prefix);
  prefix.writeUInt32BE(generation, MARK.length);
  return prefix;
}

/** The generation of the key that sealed the bytes. @throws for bytes that name none. */
export function generationIn(sealed: Buffer): number {
  if (!sealed.subarray(0, MARK.length).equals(MARK)) throw new Error('no sealed bytes');
  return sealed.readUInt32BE(MARK.length);
}

export const sealWith = (key: Buffer, generation: number, plain: Buffer, context: string): Buffer =>
  Buffer.concat([prefixOf(generation), sealBytes(key, plain, context)]);

/** Bytes that name their key. */
export const openNamed = (key: Buffer, sealed: Buffer, context: string): Buffer =>
  openBytes(key, sealed.subarray(PREFIX_BYTES), context);

/** One key that is never replaced. */
export class FixedSealer implements Sealer {
  constructor(private readonly key: Buffer) {}

  seal(plain: Buffer, context: string): Promise<Buffer> {
    return Promise.resolve(sealWith(this.key, 1, plain, context));
  }

  async open(sealed: Buffer, context: string): Promise<Buffer> {
    return openNamed(this.key, sealed, context);
  }
}
