import * as z from 'zod';
import { EXPORT_FORMATS, EXPORT_TYPES } from '../../domain/export/export.decider.js';
import { shownExport, type ShownExport } from '../../exports/shown-export.js';
import { timeNow } from '../../foundation/world.js';
import { onceIfKeyed } from '../operator-keys.js';
import { notDone } from '../outcome.js';
import { fullId } from '../registry/full-id.js';
import { given, help, json, limit, text, textUpTo } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { get, remove } from '../registry/routes.js';
import { EXPORT_NOT_FOUND, listExports } from './export-commands.js';
import { runExport } from './run-export.js';

const name = textUpTo(255).refine(
  (value) => !/\p{Cc}/u.test(value),
  'must have no control characters',
);

/** Also called by the console. */
export const cancel = recordedOperation({
  name: 'export cancel',
  summary: 'cancels an export that is not over',
  members: { exportId: given(text, { help: 'the id of the export' }) },
  positions: ['exportId'],
  roles: ['support'],
  route: remove('exports/{tenant}/{exportId}', 'EXPORT_NOT_FOUND'),
  examples: ['export cancel acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11'],
  record: async (context, { exportId }) => {
    const { core, scope, meta, keyed } = context;
    const once = { meta, operation: 'export cancel', asked: { exportId }, keyed };
    const found = await fullId(context, exportId, async (prefix) => {
      const all = await listExports(core, scope, 10_000);
      return all.map((one) => one.id).filter((one) => one.startsWith(prefix));
    });
    const { done: result } = await onceIfKeyed(core.names, once, async (keyedMeta) => {
      const outcome = await core.exports.cancel(keyedMeta, found);
      if ('refused' in outcome)
        throw outcome.refused === 'EXPORT_IS_OVER'
          ? notDone('the export is over: there is nothing to cancel')
          : EXPORT_NOT_FOUND;
      return { done: shownExport(outcome.state, undefined, timeNow()), replayed: false };
    });
    return { result, parameters: { export: result.id }, completed: 'the export is cancelled' };
  },
  said: ({ id, status }) => `${id} ${status}`,
});

export const operations: readonly Operation[] = [
  ledgerOperation({
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
      const texts = { name: own ?? null, requester: context.by.name, params: param ?? null };
      const shown = await runExport(context, { exportType, format, texts }, out);
      if (out !== '-') await context.write(`${JSON.stringify(shown, null, 2)}\n`);
      return shown;
    },
  }),
  ledgerOperation({
    name: 'export list',
    summary: 'exports, newest first',
    members: { limit: limit(100) },
    roles: ['support'],
    route: get('exports/{tenant}'),
    examples: ['export list acme --json'],
    columns: [
      'id',
      'type',
      'format',
      'name',
      'requester',
      'status',
      ['created', ({ dateCreated }: ShownExport) => new Date(dateCreated).toISOString()],
      ['rows', ({ stats }: ShownExport) => stats?.['rows'] ?? stats?.['rowsDone'], 'amount'],
    ],
    run: ({ core, scope }, { limit: most }) => listExports(core, scope, most),
  }),
  cancel,
];
