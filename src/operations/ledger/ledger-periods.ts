import { PeriodCommandEnvelope } from '../../command-handling/commands.js';
import type { Core } from '../../core/core.js';
import type { ChangePeriod } from '../../domain/period/period.decider.js';
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

/**
 * `ledger close` and `ledger reopen`. @throws {CommandError} when it is so already, or the period
 * is not over.
 */
export async function changePeriod(
  { commands, names }: Pick<Core, 'commands' | 'names'>,
  scope: Scope,
  type: ChangePeriod['type'],
  { period: name, comment, by }: PeriodRequest,
): Promise<PeriodChanged> {
  const { to: endsAt } = parsePeriod(name);
  const command = {
    type,
    period: name,
    endsAt,
    now: Date.now(),
    comment: staffSays(names, scope, by, comment),
    by: memberOfStaff(names, scope, by),
  };
  const meta = operatorMeta(scope, type);
  const outcome = await commands.execute(new PeriodCommandEnvelope(meta, command));
  if ('refused' in outcome) throw new CommandError(refusalText(outcome.refused, name));
  return {
    period: name,
    status: type === 'ClosePeriod' ? 'closed' : 'open',
    position: outcome.position,
  };
}

function refusalText(refused: string, period: string): string {
  if (refused === 'PERIOD_NOT_OVER') return `the period ${period} is not over yet`;
  if (refused === 'PERIOD_ALREADY_CLOSED') return `the period ${period} is closed already`;
  if (refused === 'PERIOD_NOT_CLOSED') return `the period ${period} is not closed`;
  return `refused: ${refused}`;
}
