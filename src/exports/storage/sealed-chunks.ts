import { promisify } from 'node:util';
import { deflateRaw, inflateRaw, type InputType, type ZlibOptions } from 'node:zlib';
import { openBytes, sealBytes } from '../../privacy/sealed-bytes.js';
import type { Chunk } from './export-chunks.js';

/** Size before encryption, from which ranges find their chunks. */
export const CHUNK_BYTES = 256 * 1024;

const deflate = promisify<InputType, ZlibOptions, Buffer>(deflateRaw);
const inflate = promisify<InputType, ZlibOptions, Buffer>(inflateRaw);

const PLAIN = Buffer.from([0]);
const DEFLATED = Buffer.from([1]);

/** The encryption context: a chunk can be decrypted only in its own place. */
const placeOf = ({ attempt, kind, number }: Chunk): string => `export ${attempt} ${kind} ${number}`;

/** Compresses if that makes it smaller, then encrypts. */
export async function sealChunk(key: Buffer, chunk: Chunk, bytes: Buffer): Promise<Buffer> {
  const deflated = await deflate(bytes, { level: 1 });
  const content =
    deflated.length < bytes.length
      ? Buffer.concat([DEFLATED, deflated])
      : Buffer.concat([PLAIN, bytes]);
  return sealBytes(key, content, placeOf(chunk));
}

/** @throws when the bytes were changed or moved. */
export async function openChunk(key: Buffer, chunk: Chunk, sealed: Buffer): Promise<Buffer> {
  const content = openBytes(key, sealed, placeOf(chunk));
  const bytes = content.subarray(1);
  return content[0] === DEFLATED[0] ? inflate(bytes, { maxOutputLength: CHUNK_BYTES }) : bytes;
}
