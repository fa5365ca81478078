import { PeriodCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../stores/core.js';
import type { ChangePeriod } from '../../domain/period/period.decider.js';
import type { Scope } from '../../domain/scope.js';
import { staffSays, type StaffMeta } from '../audit.js';
import { notDoneAbout } from '../outcome.js';
import { parsePeriod } from './ledger-selection.js';
import type { Refusal } from '../../domain/refusal.js';

/** `ledger close` and `ledger reopen`, with what the audit event contains. */
export async function changePeriodWithAudit(
  { commands, tenants }: Pick<Core, 'commands' | 'tenants'>,
  meta: StaffMeta,
  type: ChangePeriod['type'],
  { period: name, comment }: { readonly period: string; readonly comment: string },
) {
  const period = parsePeriod(name);
  const command = {
    type,
    period: name,
    endsAt: period.to,
    now: await tenants.now(meta.scope),
    comment: staffSays(meta, comment),
    by: meta.actor.name,
  };
  const outcome = await commands.execute(new PeriodCommandEnvelope(meta, command));
  if ('refused' in outcome)
    throw notDoneAbout('period', REFUSED[outcome.refused]?.(name) ?? `refused: ${outcome.refused}`);
  const status = type === 'ClosePeriod' ? 'closed' : 'open';
  return {
    result: { period: name, status, position: outcome.position },
    parameters: { period: name },
    completed: `${name} is ${status}`,
  };
}

const REFUSED: Readonly<Partial<Record<Refusal, (period: string) => string>>> = {
  PERIOD_NOT_OVER: (period) => `the period ${period} is not over yet`,
  PERIOD_ALREADY_CLOSED: (period) => `the period ${period} is closed already`,
  PERIOD_NOT_CLOSED: (period) => `the period ${period} is not closed`,
};

/** The closed months, the newest first. */
export async function closedPeriods(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  scope: Scope,
): Promise<readonly string[]> {
  const { state } = await streams.periods.load(names.periodsStream(scope));
  return [...state.closed.keys()].sort().reverse();
}
