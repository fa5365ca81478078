import { ExportQueries } from '../../../projections/exports/queries.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { problemsOfParams } from '../../exports/export-params.js';
import type { ExportRequest } from '../../exports/exports.js';
import { shownExport, stateOfRow, type ShownExport } from '../../exports/shown-export.js';
import { timeNow } from '../../foundation/world.js';
import type { StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { readFrom } from '../rebuilt-read-models.js';
import { NotDone, notDone } from '../outcome.js';

/** Operations on exports: each returns the document that `--json` prints. */

type ExportCore = Pick<Core, 'exports' | 'pool'>;

/** Newest first. @throws {NotDone} */
export async function listExports(
  core: ExportCore,
  scope: Scope,
  limit: number,
): Promise<readonly ShownExport[]> {
  const { items } = await readFrom(core, 'exports', ExportQueries, (exports) =>
    exports.list(scope, { limit, offset: 0 }),
  );
  const progress = await core.exports.progressOf(items.map(({ export_id: id }) => id));
  const now = timeNow();
  return items.map((row) => shownExport(stateOfRow(row), progress.get(row.export_id), now));
}

const NAME_MAX = 255;

/** It is recorded; a worker writes it. Dates are ISO 8601. @throws {NotDone} */
export async function requestExport(
  core: Pick<Core, 'exports'>,
  meta: StaffMeta,
  { texts, ...requested }: ExportRequest,
): Promise<Done<ShownExport>> {
  const name = texts.name ?? '';
  const params = { dates: 'ISO_8601', ...texts.params };
  const isWrong = [...name].length > NAME_MAX || /\p{Cc}/u.test(name);
  const wrong = `name must be at most ${NAME_MAX} characters without control characters`;
  const problems = [...(isWrong ? [wrong] : []), ...problemsOfParams(params)];
  if (problems.length > 0) throw notDone(...problems);
  const outcome = await core.exports.request(meta, { ...requested, texts: { ...texts, params } });
  if ('refused' in outcome) throw notDone(...(outcome.details ?? []));
  const result = shownExport(outcome.state, undefined, timeNow());
  const { id, type, format } = result;
  const parameters = { export: id, type, format };
  return { result, parameters, completed: `the export ${id} is asked for` };
}

export const EXPORT_NOT_FOUND = new NotDone('EXPORT_NOT_FOUND', ['there is no such export']);

/** As it is now. @throws {NotDone} */
export async function showExport(
  core: ExportCore,
  scope: Scope,
  exportId: string,
): Promise<ShownExport> {
  const found = await core.exports.find(scope, exportId);
  if (found === undefined) throw EXPORT_NOT_FOUND;
  return shownExport(found.state, found.progress, timeNow());
}
