import type { ExportRequest } from '../../exports/exports.js';
import type { ShownExport } from '../../exports/shown-export.js';
import { pause } from '../../foundation/pause.js';
import { auditedOn } from '../audited.js';
import type { ScopedContext } from '../registry/context.js';
import { requestExport, showExport } from './export-commands.js';
import { writeExportsHere } from './write-exports-here.js';
import { notDone } from '../outcome.js';
import { WrittenFile } from '../written-file.js';

const POLL_MS = 200;

/**
 * Requests an export, waits for it and writes the file, or for `-` the stream. The service writes
 * exports; while none runs on this database, the command does so itself: it follows the log with
 * the read models, and writes what waits.
 */
export async function runExport(
  context: ScopedContext,
  requested: ExportRequest,
  out: string,
): Promise<ShownExport> {
  const { core, scope, by, warn, payments } = context;
  const target = out === '-' ? undefined : await WrittenFile.open(out);
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
