import { sql, type RawBuilder } from 'kysely';
import { CENTS } from '../../src/domain/tenant/unit-settings.js';
import { unitKey } from '../../src/domain/units.js';
import type { TableOfReadModel } from '../../src/projecting/following/live-reads.js';

/** The currency in which people see CENTS of the account `a`: of its credit, else its own. */
export const currencyOfCents = (tableOf: TableOfReadModel): RawBuilder<string> =>
  sql<string>`coalesce((select max(credit.currency) from ${tableOf('rewards', 'rewards')} credit
    where credit.account_ref = a.account_ref and lower(credit.unit) = ${sql.lit(unitKey(CENTS))}),
    a.currency)`;
