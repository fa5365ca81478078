import { PeriodCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { ChangePeriod } from '../../domain/period/period.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { Position } from '../../event-log/event-log.js';
import { timeNow } from '../../foundation/world.js';
import { staffSays, type StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { NotDone, type Outcome } from '../outcome.js';
import { parsePeriod } from './ledger-selection.js';

export interface PeriodRequest {
  readonly period: string;
  readonly comment: string;
}

export interface PeriodChanged {
  readonly period: string;
  readonly status: 'closed' | 'open';
  readonly position: Position | null;
}

/** `ledger close` and `ledger reopen`, with what the audit event contains. */
export async function changePeriodOnRecord(
  { commands }: Pick<Core, 'commands'>,
  meta: StaffMeta,
  type: ChangePeriod['type'],
  { period: name, comment }: PeriodRequest,
): Promise<Outcome<Done<PeriodChanged>>> {
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

/** A closed month; `closedAt` is ISO 8601. */
export interface ClosedPeriod {
  readonly period: string;
  readonly closedAt: string;
  /** Null: forgotten. */
  readonly by: string | null;
  readonly comment: string | null;
}

/** The closed months, the newest first. */
export async function closedPeriods(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  scope: Scope,
): Promise<readonly ClosedPeriod[]> {
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
