import type { Core } from '../../core/core.js';
import { decide, type ChangePeriod } from '../../domain/period/period.decider.js';
import type { Scope } from '../../domain/scope.js';
import type { Position } from '../../event-log/event-log.js';
import { memberOfStaff, operatorMeta, staffSays } from '../audit.js';
import { CommandError } from '../command-error.js';
import { parsePeriod } from './ledger-selection.js';

export interface PeriodRequest {
  readonly period: string;
  readonly comment: string;
  readonly by: string;
}

export interface PeriodChanged {
  readonly period: string;
  readonly status: 'closed' | 'open';
  readonly position: Position | null;
}

/** `ledger close` and `ledger reopen`. @throws {CommandError} when it is so already, or the period is not over. */
export async function changePeriod(
  { streams, names }: Pick<Core, 'streams' | 'names'>,
  scope: Scope,
  type: ChangePeriod['type'],
  { period: name, comment, by }: PeriodRequest,
): Promise<PeriodChanged> {
  const { to: endsAt } = parsePeriod(name);
  const outcome = await streams.periods.handle(names.periodsStream(scope), operatorMeta(scope, type), (state) =>
    decide(state, {
      type,
      period: name,
      endsAt,
      now: Date.now(),
      comment: staffSays(names, scope, by, comment),
      by: memberOfStaff(names, scope, by),
    }),
  );
  if (outcome.kind === 'refused') throw new CommandError(refusalText(outcome.refused, name));
  if (outcome.kind !== 'accepted') throw new Error('a period waits for nothing');
  return { period: name, status: type === 'ClosePeriod' ? 'closed' : 'open', position: outcome.position };
}

function refusalText(refused: string, period: string): string {
  if (refused === 'PERIOD_NOT_OVER') return `the period ${period} is not over yet`;
  if (refused === 'PERIOD_ALREADY_CLOSED') return `the period ${period} is closed already`;
  if (refused === 'PERIOD_NOT_CLOSED') return `the period ${period} is not closed`;
  return `refused: ${refused}`;
}
