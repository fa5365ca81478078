import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '../foundation/error-code.js';
import { notDone } from './outcome.js';

/** A file that appears under its name when it is whole, or what is no file, such as a device. */
export class WrittenFile {
  private isKept = false;

  private constructor(
    private readonly stream: WriteStream,
    private readonly path: string | undefined,
  ) {}

  /** @throws {NotDone} */
  static async open(out: string): Promise<WrittenFile> {
    const there = await stat(out).catch(() => undefined);
    if (there?.isDirectory()) throw notDone(`cannot write ${out}: it is a folder`);
    const isStream = there !== undefined && !there.isFile();
    try {
      const stream = createWriteStream(isStream ? out : partOf(out), { flags: 'w', mode: 0o600 });
      await once(stream, 'open');
      return new WrittenFile(stream, isStream ? undefined : out);
    } catch (error) {
      throw notDone(`cannot write ${out}: ${errorCode(error) ?? 'unknown error'}`);
    }
  }

  /** All bytes. @throws the errors of either side. */
  async write(pieces: AsyncIterable<Buffer>): Promise<void> {
    try {
      await pipeline(pieces, this.stream);
    } catch (error) {
      // A reader such as `head` has enough.
      if (this.path !== undefined || errorCode(error) !== 'EPIPE') throw error;
    }
  }

  async keep(): Promise<void> {
    if (this.path !== undefined) await rename(partOf(this.path), this.path);
    this.isKept = true;
  }

  /** Unless it is kept. */
  async discard(): Promise<void> {
    if (this.isKept) return;
    this.stream.destroy();
    if (this.path !== undefined) await rm(partOf(this.path), { force: true });
  }
}

const partOf = (path: string): string => `${path}.part`;
