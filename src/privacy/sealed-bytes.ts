import { createCipheriv, createDecipheriv } from 'node:crypto';
import { newBytes } from '../foundation/world.js';

/** AES-256-GCM: nonce, tag and ciphertext. Opens with the same `context` only. */
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

/** Encrypts for one purpose, with replaceable keys: sealed bytes name theirs. */
export interface Sealer {
  /** @param context what the value belongs to; it opens with this context only. */
  seal(plain: Buffer, context: string): Promise<Buffer>;
  /** @throws when the bytes were changed, or have another context. */
  open(sealed: Buffer, context: string): Promise<Buffer>;
}

const MARK = Buffer.from([0x00, 0x6b, 0x65, 0x79]);
const PREFIX_BYTES = MARK.length + 4;

/** The prefix of bytes that were sealed with a purpose's key of this generation. */
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

/** Opens bytes that name their key. */
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
