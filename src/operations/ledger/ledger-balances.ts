import { inTextOrder } from '../../foundation/text-order.js';
import { csvLines } from '../../exports/files/csv-lines.js';
import type { Scope } from '../../domain/scope.js';
import type { Core } from '../../stores/core.js';
import type { LogReads, Work } from './ledger-entries.js';
import { everyAccount, postAccount } from './ledger-reconciliation.js';
import { select } from './ledger-selection.js';
import { Stopped } from '../log/log-reader.js';

type LedgerBalances = Awaited<ReturnType<typeof ledgerBalances>>['result'];

/**
 * `ledger balances`: the accounts and units that `ledger reconcile` compares with a file, by
 * account, then by unit. @throws {UnreadableEvent}
 */
export async function ledgerBalances(
  core: LogReads & Pick<Core, 'names' | 'tenants'>,
  scope: Scope,
  { asOf }: { readonly asOf?: string | undefined },
  work: Work,
) {
  const now = await core.tenants.now(scope);
  const selection = await select(core.log, { asOf }, now);
  const { until = Infinity } = selection;
  const span = { from: -Infinity, to: until, clock: Math.min(until, now) };
  const balances = [];
  for await (const { accountId, decoded } of everyAccount(core, scope, 'reading accounts', work)) {
    if (accountId === null) continue;
    const { postings, available, scheduled } = postAccount(decoded, span);
    for (const unitKey of postings.presentUnits())
      balances.push({
        account: accountId,
        unit: postings.units.get(unitKey) ?? unitKey,
        available: available.get(unitKey) ?? 0,
        /** Granted, and available at a later time. */
        pending: scheduled.get(unitKey) ?? 0,
      });
  }
  if (work.signal?.aborted) throw new Stopped();
  balances.sort((a, b) => inTextOrder(a.account, b.account) || inTextOrder(a.unit, b.unit));
  return { result: balances, parameters: { asOf } };
}

/** A file that `ledger reconcile --against` reads. */
export const balancesCsv = (balances: Readonly<LedgerBalances>): string =>
  csvLines(
    [
      ['account', 'unit', 'balance'],
      ...balances.map(({ account, unit, available }) => [account, unit, available]),
    ],
    '\r\n',
  );
