import type { SubjectKeys } from '../../privacy/subject-keys.js';
import type { ExportChunks } from './export-chunks.js';
import { CHUNK_BYTES, openChunk } from './sealed-chunks.js';

/** Both ends are inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** The file was removed during the read. */
export class FileRemoved extends Error {
  override readonly name = 'FileRemoved';
  constructor() {
    super('the file of the export is gone');
  }
}

/**
 * The bytes of a file. Each chunk is fetched after the previous one was consumed, so that a slow
 * reader holds one chunk in memory and no connection. @throws {FileRemoved}
 */
export async function* readStoredFile(
  { chunks, keys }: { readonly chunks: ExportChunks; readonly keys: Pick<SubjectKeys, 'load'> },
  attempt: string,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  for (let at = first; at <= last;) {
    const number = Math.floor(at / CHUNK_BYTES);
    const chunk = { attempt, kind: 'file', number } as const;
    const sealed = await chunks.get(chunk);
    const key = (await keys.load([attempt])).get(attempt);
    if (!sealed || !key) throw new FileRemoved();
    const bytes = await openChunk(key, chunk, sealed);
    const start = at - number * CHUNK_BYTES;
    const piece = bytes.subarray(start, start + last - at + 1);
    if (piece.length === 0) throw new FileRemoved();
    yield piece;
    at += piece.length;
  }
}
