import * as z from 'zod';
import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import type { ShownExport } from '../../exports/shown-export.js';
import { pause } from '../../foundation/pause.js';
import { auditedOn } from '../audited.js';
import type { ScopedContext } from '../registry/context.js';
import { given, help, json, text, textUpTo } from '../registry/members.js';
import { ledgerOperation } from '../registry/operation.js';
import { requestExport, showExport } from './export-commands.js';
import { writeExportsHere } from './write-exports-here.js';
import { notDone } from '../outcome.js';
import { WrittenFile } from '../written-file.js';

const POLL_MS = 200;

const name = textUpTo(255).refine(
  (value) => !/\p{Cc}/u.test(value),
  'must have no control characters',
);

/**
 * The service writes exports; while none runs on this database, the command does so itself: it
 * follows the log with the read models, and writes what waits.
 */
export const run = ledgerOperation({
  name: 'export run',
  summary: 'requests an export, waits, and writes the file',
  members: {
    type: help(z.enum(EXPORT_TYPES), EXPORT_TYPES.join(', ')),
    format: help(z.enum(EXPORT_FORMATS).default('CSV'), EXPORT_FORMATS.join(', ')),
    param: given(z.record(z.string(), z.string()).optional(), {
      placeholder: 'key=value',
      help: 'a filter, such as createdSince=2026-01-01; may be repeated',
    }),
    name: help(name.optional(), 'names the export'),
    out: given(text, { placeholder: 'file', help: 'where to; - is standard output' }),
    json,
  },
  roles: ['support'],
  isRecorded: true,
  output: 'stream',
  examples: [
    'export run acme --type REWARD_BALANCE --out balances.csv',
    'export run acme --type USER --out -',
  ],
  run: async (context, { type: exportType, format, param, name: own, out }) => {
    const { core, scope, by, warn, payments } = context;
    const texts = { name: own ?? null, requester: by.name, params: param ?? null };
    const target = out === '-' ? undefined : await WrittenFile.open(out);
    const logger = {
      warn: (fields: object, message: string) => warn(`${message}: ${JSON.stringify(fields)}`),
    };
    const parts = { core, logger, publicUrl: payments.publicUrl() };
    const frame = { scope, by, operation: 'export run', warn };
    try {
      const shown = await writeExportsHere(parts, async () => {
        const begun = await auditedOn(core, frame, (_, meta) =>
          requestExport(core, meta, { exportType, format, texts }),
        );
        const completed = await completion(context, begun.id);
        const bytes = Number(completed.stats?.['bytes'] ?? 0);
        const pieces = core.downloads.readWhole(completed.id, bytes);
        if (target !== undefined) await target.write(pieces);
        else for await (const piece of pieces) await context.write(piece);
        return completed;
      });
      await target?.keep();
      if (out !== '-') await context.write(`${JSON.stringify(shown, null, 2)}\n`);
      return shown;
    } finally {
      await target?.discard();
    }
  },
});

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
