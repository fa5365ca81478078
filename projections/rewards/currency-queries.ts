import { sql, type RawBuilder } from 'kysely';
import type { AccountRef } from '../../src/domain/scope.js';
import { CENTS } from '../../src/domain/tenant/unit-settings.js';
import { unitKey } from '../../src/domain/units.js';
import type { LiveReads, TableOfReadModel } from '../../src/projecting/following/live-reads.js';

const IS_CENTS = sql<boolean>`lower(credit.unit) = ${unitKey(CENTS)}`;

/** The currency in which people see CENTS of the account `a`: of its credit, else its own. */
export const currencyOfCents = (tableOf: TableOfReadModel): RawBuilder<string> =>
  sql<string>`coalesce((select max(credit.currency) from ${tableOf('rewards', 'rewards')} credit
    where credit.account_ref = a.account_ref and ${IS_CENTS}), a.currency)`;

export class CurrencyQueries {
  constructor(private readonly reads: LiveReads<never>) {}

  /** Of the accounts with credit in CENTS that has a currency. */
  async ofCents(accounts: readonly AccountRef[]): Promise<ReadonlyMap<AccountRef, string>> {
    const found = await this.reads.all({
      name: 'currencies_of_cents',
      prepared: true,
      values: { accounts },
      build: (_rm, given, _gone, tableOf) => sql<{ json: readonly [AccountRef, string] }>`
        select json_build_array(account_ref, max(currency)) as json
        from ${tableOf('rewards', 'rewards')} credit
        where account_ref = any(${given.accounts}::text[]) and currency is not null
          and ${IS_CENTS}
        group by account_ref`,
    });
    return new Map(found);
  }
}
