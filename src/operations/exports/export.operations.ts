import { shownExport, type ShownExport } from '../../exports/shown-export.js';
import { timeNow } from '../../foundation/world.js';
import { onceIfKeyed } from '../operator-keys.js';
import { notDone } from '../outcome.js';
import { fullId } from '../registry/full-id.js';
import { given, limit, text } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { get, remove } from '../registry/routes.js';
import { EXPORT_NOT_FOUND, listExports } from './export-commands.js';
import { run } from './run-export.js';

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
    const once = { meta, asked: { exportId }, keyed };
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
  run,
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
