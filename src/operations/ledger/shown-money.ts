import { sql } from 'kysely';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { moneyText } from '../../domain/money.js';
import type { Scope } from '../../domain/scope.js';
import { CENTS, formatOf } from '../../domain/tenant/unit-settings.js';
import { unitKey } from '../../domain/units.js';
import { fetchRows } from '../../postgres/statements.js';
import {
  LiveGenerations,
  ReadModelsIncomplete,
} from '../../projecting/generations/live-generations.js';
import type { OperationContext } from '../registry/context.js';
import type { Money } from '../registry/printing.js';

/** Whose amounts are shown: an account's, each account's, or sums over all; none: own formats. */
export type Amounts = { readonly account: string } | 'each' | 'all' | 'none';

/** How people see the amounts of a tenant. A sum over accounts of several currencies has none. */
export async function shownMoney(
  context: Pick<OperationContext, 'core' | 'operationsPool'>,
  scope: Scope,
  of: Amounts,
): Promise<Money> {
  const { formats } = (await context.core.tenants.find(scope.tenant))?.units ?? { formats: [] };
  const isNamed = of === 'none' || formatOf(formats, CENTS, null) !== undefined;
  const currencies = await (isNamed
    ? new Map<string, string>()
    : currenciesOfCents(context, scope, of));
  const [only = null, ...others] = new Set(currencies.values());
  const ofAll = others.length === 0 ? only : null;
  const texts = new Map<string, ReturnType<typeof moneyText>>();
  return (unit, account) => {
    const currency = account === undefined ? ofAll : (currencies.get(account) ?? null);
    const format = formatOf(formats, unit, currency);
    if (format === undefined) return undefined;
    const key = `${format.currency} ${format.digits}`;
    const text = texts.get(key) ?? moneyText(format);
    texts.set(key, text);
    return text;
  };
}

/** By account: the currency of its rewards in CENTS, else its own. */
async function currenciesOfCents(
  { core, operationsPool }: Pick<OperationContext, 'core' | 'operationsPool'>,
  scope: Scope,
  of: Amounts,
): Promise<ReadonlyMap<string, string>> {
  const ledger = await core.tenants.ledger(scope);
  const pool = operationsPool();
  const generations = new LiveGenerations(pool, accountProjectors);
  const tableOf = async (name: string) =>
    sql.table(`${(await generations.liveGeneration(name)).schema}.${name}`);
  try {
    const account = typeof of === 'string' ? null : core.names.accountRef(ledger, of.account);
    const each = sql<{ account: string; currency: string }>`
      select a.account_id as account, coalesce(max(r.currency), a.currency) as currency
      from ${await tableOf('accounts')} a join ${await tableOf('rewards')} r using (account_ref)
      where a.tenant = ${ledger.tenant} and a.mode = ${ledger.mode} and lower(r.unit) = ${unitKey(CENTS)}
        and (${account}::text is null or account_ref = ${account})
      group by account_ref, a.account_id, a.currency`;
    const rows = await fetchRows(
      pool,
      of === 'all'
        ? sql<{ account: string; currency: string }>`
            select distinct currency as account, currency from (${each}) as of_each`
        : each,
    );
    return new Map(rows.map((row) => [row.account, row.currency]));
  } catch (error) {
    if (error instanceof ReadModelsIncomplete) return new Map();
    throw error;
  }
}
