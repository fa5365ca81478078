import { once } from 'node:events';
import { PassThrough } from 'node:stream';

/** Lines of a result of an import, stored while they are written. */
export class ResultFile {
  private readonly lines = new PassThrough();
  private readonly stored: Promise<unknown>;

  /** @param store takes the bytes until they end. */
  constructor(store: (bytes: AsyncIterable<Buffer>) => Promise<unknown>) {
    this.stored = store(this.lines);
    // `end` throws it.
    this.stored.catch((error: unknown) => this.lines.destroy(error as Error));
    this.lines.on('error', () => undefined);
  }

  /** @throws the error of what stores the bytes. */
  async write(line: string): Promise<void> {
    if (this.lines.destroyed) await this.stored;
    if (!this.lines.write(line)) await once(this.lines, 'drain');
  }

  /** Unless it has ended: what was stored is no whole file. */
  discard(): void {
    this.lines.destroy();
  }

  /** Resolves when all is stored. */
  async end(): Promise<void> {
    this.lines.end();
    await this.stored;
  }
}
