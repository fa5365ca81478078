import { statementOf, type Statement } from '../../bookkeeping/statement.js';
import type { Core } from '../../core/core.js';
import type { Scope } from '../../domain/scope.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { clockOf, findAccount, readAccountEntries } from './ledger-entries.js';
import { select, type SelectionOptions } from './ledger-selection.js';

export interface StatementRequest extends SelectionOptions {
  readonly accountId: string;
  readonly unit?: string;
}

/** `ledger statement`. @throws {CommandError} */
export async function statementOfAccount(
  core: Pick<Core, 'log' | 'codec' | 'names'>,
  scope: Scope,
  { accountId, unit, ...options }: StatementRequest,
  now = Date.now(),
): Promise<Statement> {
  const selection = await select(core.log, options, now);
  const { stream } = await findAccount(core, scope, accountId);
  const { entries, newest } = await readAccountEntries(core, stream, selection);
  const position = selection.asked ?? (newest && firstPosition(newest)) ?? null;
  const clock = clockOf(selection, newest, now);
  return statementOf({ account: accountId, position, entries, from: selection.from, clock, unit });
}
