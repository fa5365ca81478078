import { PeriodCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { ChangePeriod } from '../../domain/period/period.decider.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { staffSays, type StaffMeta } from '../audit.js';
import { NotDone, type DocumentOf } from '../outcome.js';
import { parsePeriod } from './ledger-selection.js';

/** `ledger close` and `ledger reopen`, with what the audit event contains. */
export async function changePeriodOnRecord(
  { commands }: Pick<Core, 'commands'>,
  meta: StaffMeta,
  type: ChangePeriod['type'],
  { period: name, comment }: { readonly period: string; readonly comment: string },
) {
  const period = parsePeriod(name);
  if (period instanceof NotDone) return period;
  const command = {
    type,
    period: name,
    endsAt: period.to,
    now: timeNow(),
    comment: staffSays(meta, comment),
    by: meta.actor.name,
  };
  const outcome = await commands.execute(new PeriodCommandEnvelope(meta, command));
  if ('refused' in outcome)
    return new NotDone({ code: 'PERIOD_NOT_CHANGED', refused: outcome.refused, period: name });
  const status = type === 'ClosePeriod' ? 'closed' : 'open';
  return {
    result: { period: name, status, position: outcome.position },
    parameters: { period: name },
    completed: `${name} is ${status}`,
  };
}

/** A closed month; `closedAt` is ISO 8601. A text is null when it is forgotten. */
export type ClosedPeriod = DocumentOf<typeof closedPeriods>[number];

/** The closed months, the newest first. */
export async function closedPeriods(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  scope: Scope,
) {
  const { state } = await streams.periods.load(names.periodsStream(scope));
  return [...state.closed]
    .map(([period, { at, by, comment }]) => ({
      period,
      closedAt: new Date(at).toISOString(),
      by: by.value,
      comment: comment.value,
    }))
    .sort((a, b) => (a.period < b.period ? 1 : -1));
}
