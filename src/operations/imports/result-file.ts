import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { WrittenFile } from '../written-file.js';

type Store = (bytes: AsyncIterable<Buffer>) => Promise<unknown>;

/** Lines of a result of an import, stored while they are written. */
export class ResultFile {
  private readonly lines = new PassThrough();
  private readonly stored: Promise<unknown>;

  private constructor(
    store: Store,
    private readonly file?: WrittenFile,
  ) {
    this.stored = store(this.lines);
    // `keep` throws it.
    this.stored.catch((error: unknown) => this.lines.destroy(error as Error));
    this.lines.on('error', () => undefined);
  }

  /**
   * @param name of a file of this machine; undefined: its bytes are stored.
   * @throws {NotDone} for a name that cannot be written.
   */
  static async open(name: string | undefined, store: Store): Promise<ResultFile> {
    const file = name === undefined ? undefined : await WrittenFile.open(name);
    return new ResultFile(file ? (bytes) => file.write(bytes) : store, file);
  }

  /** @throws the error of what stores the bytes. */
  async write(line: string): Promise<void> {
    if (this.lines.destroyed) await this.stored;
    if (!this.lines.write(line)) await once(this.lines, 'drain');
  }

  /** Resolves when all is stored. */
  async keep(): Promise<void> {
    this.lines.end();
    await this.stored;
    await this.file?.keep();
  }

  /** Unless the file is kept: the stored part is not a whole file. */
  async discard(): Promise<void> {
    this.lines.destroy();
    await this.file?.discard();
  }
}
