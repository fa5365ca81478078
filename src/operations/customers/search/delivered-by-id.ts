import { sql } from 'kysely';
import type { Pool } from 'pg';
import { modeOf, type LedgerMode, type Scope } from '../../../domain/scope.js';
import { fetchRows } from '../../../postgres/statements.js';

/** A webhook or mail with the id that was searched for. It names no person. */
export interface DeliveredById {
  readonly kind: 'delivery' | 'mail';
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly id: string;
  /** Of the announcement. */
  readonly type: string;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** The webhook or the mail of this id in one of the ledgers. */
export async function deliveredById(
  pool: Pool,
  scopes: readonly Scope[],
  id: string,
): Promise<readonly DeliveredById[]> {
  if (!UUID.test(id)) return [];
  const rows = await fetchRows(
    pool,
    sql<DeliveredById>`
      select 'delivery' as kind, tenant, mode, id::text, type from ledger.webhook_deliveries
      where id = ${id}
      union all select 'mail', tenant, mode, id::text, type from ledger.mail_deliveries
      where id = ${id}`,
  );
  // Deliveries belong to endpoints, which stay when test data are removed.
  const isWithin =
    ({ kind, tenant, mode }: DeliveredById) =>
    (scope: Scope) =>
      scope.tenant === tenant &&
      (kind === 'delivery' ? modeOf(scope.mode) === modeOf(mode) : scope.mode === mode);
  return rows.filter((row) => scopes.some(isWithin(row)));
}
