import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { RequestedExport } from '../../exports/exports.js';
import type { ShownExport } from '../../exports/shown-export.js';
import { errorCode } from '../../foundation/error-code.js';
import { pause } from '../../foundation/pause.js';
import { auditedOn } from '../audited.js';
import type { ScopedContext } from '../registry/operation.js';
import { requestExport, showExport } from './export-commands.js';
import { writeExportsHere } from './write-exports-here.js';
import { notDone } from '../outcome.js';

const POLL_MS = 200;

/**
 * Requests an export, waits for it and writes the file, or for `-` the stream. The service writes
 * exports; while none runs on this database, the command does so itself: it follows the log with
 * the read models, and writes what waits.
 */
export async function runExport(
  context: ScopedContext,
  requested: RequestedExport,
  out: string,
): Promise<ShownExport> {
  const { core, scope, by, warn, payments } = context;
  const target = out === '-' ? undefined : await Target.open(out);
  const logger = {
    warn: (fields: object, message: string) => warn(`${message}: ${JSON.stringify(fields)}`),
  };
  const parts = { core, logger, publicUrl: payments.publicUrl() };
  const frame = { scope, by, operation: 'export run', warn };
  try {
    const completed = await writeExportsHere(parts, async () => {
      const begun = await auditedOn(core, frame, (_, meta) => requestExport(core, meta, requested));
      const shown = await completion(context, begun.id);
      const pieces = core.downloads.readWhole(shown.id, Number(shown.stats?.['bytes'] ?? 0));
      if (target !== undefined) await target.write(pieces);
      else for await (const piece of pieces) await context.write(piece);
      return shown;
    });
    await target?.keep();
    return completed;
  } finally {
    await target?.discard();
  }
}

/** Waits until the export is over. */
async function completion(
  { core, scope, signal, onProgress }: ScopedContext,
  exportId: string,
): Promise<ShownExport> {
  while (!signal.aborted) {
    const shown = await showExport(core, scope, exportId);
    const { status, stats } = shown;
    if (status === 'COMPLETED') return shown;
    if (status !== 'PENDING') {
      const reason = String(stats?.['reason'] ?? 'a person in it was forgotten');
      throw notDone(`the export was aborted: ${reason}`);
    }
    const total = stats?.['rowsTotal'];
    if (typeof total === 'number') onProgress('writing', Number(stats?.['rowsDone'] ?? 0), total);
    else onProgress('waiting', 0);
    await pause(POLL_MS, signal);
  }
  throw notDone(`stopped: the export ${exportId} continues; export cancel ends it`);
}

/** A file that appears under its name when it is whole, or what is no file, such as a device. */
class Target {
  private isKept = false;

  private constructor(
    private readonly stream: WriteStream,
    private readonly path: string | undefined,
  ) {}

  /** @throws {NotDone} */
  static async open(out: string): Promise<Target> {
    const there = await stat(out).catch(() => undefined);
    if (there?.isDirectory()) throw notDone(`cannot write ${out}: it is a folder`);
    const isStream = there !== undefined && !there.isFile();
    try {
      const stream = createWriteStream(isStream ? out : partOf(out), { flags: 'w', mode: 0o600 });
      await once(stream, 'open');
      return new Target(stream, isStream ? undefined : out);
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
