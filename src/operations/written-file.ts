import { once } from 'node:events';
import { createWriteStream, realpathSync, type WriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { devNull } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
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

/** Whether writing the files would change the file that is read, or mix two of them. */
export function overlap(read: string, written: readonly (string | undefined)[]): boolean {
  const files = written.filter((path) => path !== undefined && path !== devNull) as string[];
  const all = [read, ...files.flatMap((path) => [path, partOf(path)])].map(realOf);
  return new Set(all).size < all.length;
}

/** The path without links, also of a file that is not there yet. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const whole = resolve(path);
    const folder = dirname(whole);
    return folder === whole ? whole : join(realOf(folder), basename(whole));
  }
}
