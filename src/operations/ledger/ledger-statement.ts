import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { statementOf, type Statement } from '../../bookkeeping/statement.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import { NotDone, type Outcome } from '../outcome.js';
import { clockOf, findAccount, readAccountEntries } from './ledger-entries.js';
import { select, type SelectionOptions } from './ledger-selection.js';

export interface StatementRequest extends SelectionOptions {
  readonly accountId: string;
  readonly unit?: string;
  /** Called when the request is not refused any more: the account is read from here on. */
  readonly accepted?: (() => void) | undefined;
  /** Called with the number of entries that count after the end of the statement. */
  readonly noteLater?: ((entries: number) => void) | undefined;
}

/** `ledger statement`. */
export async function statementOfAccount(
  core: Pick<Core, 'log' | 'codec' | 'names'>,
  scope: Scope,
  { accountId, unit, accepted, noteLater, ...options }: StatementRequest,
  now = Date.now(),
): Promise<Outcome<Statement>> {
  const selection = await select(core.log, options, now);
  if (selection instanceof NotDone) return selection;
  const account = await findAccount(core, scope, accountId);
  if (account instanceof NotDone) return account;
  accepted?.();
  const { entries, later, paid, newest } = await readAccountEntries(
    core,
    account.stream,
    selection,
    now,
  );
  noteLater?.(later);
  const position = selection.asked ?? (newest && firstPosition(newest)) ?? null;
  const clock = clockOf(selection, newest, now);
  const { from, until } = selection;
  const asked = { account: accountId, position, entries, paid, from, until, clock, unit };
  return statementOf(asked, () => turnOfOthers());
}

/** As `statementOfAccount`, with what its audit event contains. */
export async function statementOnRecord(
  core: Pick<Core, 'log' | 'codec' | 'names'>,
  scope: Scope,
  request: StatementRequest,
) {
  const result = await statementOfAccount(core, scope, request);
  if (result instanceof NotDone) return result;
  const { accountId, accepted: _, noteLater: __, ...selection } = request;
  const account = core.names.accountRef(scope, accountId);
  return { result, parameters: { account, ...selection }, digest: result.digest };
}
