import type { ChunkKind, ExportChunks } from './export-chunks.js';
import { DIGEST_BYTES } from './people-in-file.js';
import { CHUNK_BYTES, sealChunk } from './sealed-chunks.js';

/** Chunks that are compressed, encrypted and stored at once. */
const AT_ONCE = 2;
const PEOPLE_PER_CHUNK = 4_096;

export interface FileWriterParts {
  readonly chunks: ExportChunks;
  readonly key: Buffer;
  readonly attempt: string;
  /** Called before a chunk is stored, with the bytes stored so far. @throws to end the writing. */
  readonly before: (storedBytes: number) => Promise<void>;
}

/** Stores what it is given in chunks of one size. Holds a few of them in memory. */
export class StoredFileWriter {
  private pieces: Buffer[] = [];
  private held = 0;
  private next = 0;
  private storedBytes = 0;
  private readonly storing = new Set<Promise<void>>();
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly parts: FileWriterParts,
    private readonly kind: ChunkKind,
    private readonly chunkBytes = kind === 'file' ? CHUNK_BYTES : PEOPLE_PER_CHUNK * DIGEST_BYTES,
  ) {}

  /** Resolves when there is room for more. @throws the error of a chunk that was not stored. */
  async write(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      const piece = bytes.subarray(from, from + this.chunkBytes - this.held);
      // The caller may use its buffer again.
      this.pieces.push(Buffer.from(piece));
      this.held += piece.length;
      from += piece.length;
      if (this.held === this.chunkBytes) await this.store();
    }
    this.throwFailure();
  }

  /** Stores the rest. */
  async end(): Promise<void> {
    if (this.held > 0) await this.store();
    await this.settled();
    this.throwFailure();
  }

  /** Nothing is under way any more. */
  async settled(): Promise<void> {
    while (this.storing.size > 0) await Promise.all(this.storing);
  }

  private async store(): Promise<void> {
    const bytes = Buffer.concat(this.pieces);
    this.pieces = [];
    this.held = 0;
    while (this.storing.size >= AT_ONCE) await Promise.race(this.storing);
    this.throwFailure();
    const number = this.next++;
    const storing: Promise<void> = this.put(number, bytes)
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => this.storing.delete(storing));
    this.storing.add(storing);
  }

  private async put(number: number, bytes: Buffer): Promise<void> {
    const { chunks, key, attempt, before } = this.parts;
    const chunk = { attempt, kind: this.kind, number };
    await before(this.storedBytes);
    if (this.kind === 'people') return chunks.put(chunk, bytes, bytes.subarray(0, DIGEST_BYTES));
    const sealed = await sealChunk(key, chunk, bytes);
    this.storedBytes += sealed.length;
    await chunks.put(chunk, sealed);
  }

  private throwFailure(): void {
    if (this.failure) throw this.failure.error;
  }
}
