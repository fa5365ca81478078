import type { ChunkKind, ExportChunks } from './export-chunks.js';
import { DIGEST_BYTES } from './people-in-file.js';
import { CHUNK_BYTES, sealChunk } from './sealed-chunks.js';

const PEOPLE_PER_CHUNK = 4_096;

export interface FileWriterParts {
  readonly chunks: ExportChunks;
  readonly key: Buffer;
  readonly attempt: string;
  /** Called before each chunk. @throws to end the writing. */
  readonly before: () => Promise<void>;
}

/** Stores bytes in chunks of one size. */
export class StoredFileWriter {
  private pieces: Buffer[] = [];
  private held = 0;
  private next = 0;

  constructor(
    private readonly parts: FileWriterParts,
    private readonly kind: ChunkKind,
    private readonly chunkBytes = kind === 'file' ? CHUNK_BYTES : PEOPLE_PER_CHUNK * DIGEST_BYTES,
  ) {}

  /** @throws the error of a chunk that could not be stored. */
  async write(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const piece = bytes.subarray(from, from + this.chunkBytes - this.held);
      // The caller may reuse its buffer.
      this.pieces.push(Buffer.from(piece));
      this.held += piece.length;
      from += piece.length;
      if (this.held === this.chunkBytes) await this.store();
    }
  }

  /** Stores the rest. */
  async end(): Promise<void> {
    if (this.held > 0) await this.store();
  }

  private async store(): Promise<void> {
    const bytes = Buffer.concat(this.pieces);
    this.pieces = [];
    this.held = 0;
    const { chunks, key, attempt, before } = this.parts;
    const chunk = { attempt, kind: this.kind, number: this.next++ };
    await before();
    if (this.kind === 'people') return chunks.put(chunk, bytes, bytes.subarray(0, DIGEST_BYTES));
    await chunks.put(chunk, await sealChunk(key, chunk, bytes));
  }
}
