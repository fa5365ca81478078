import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { WAITS_MS } from '../domain/customer/customer.state.js';
import { timeNow } from '../foundation/world.js';
import { fetchRow, fetchRows, type Connection } from '../postgres/statements.js';
import { WALKS } from './incoming/payment-rows.js';
import { PAYMENTS, WAITS_FOR } from './outgoing/payment-work.js';

/** For health page and metrics, over all processes. Counts are bounded. */
export interface PaymentFigures {
  /** Events of customers without an account. */
  readonly waitingEvents: number;
  /** Accounts with something to pay now. */
  readonly waitingPushes: number;
  readonly oldestWaitingPushSeconds: number;
  readonly parkedPushes: number;
  /** The reason of one of them. */
  readonly parkedBecause: string | null;
  /** Time since the oldest unfinished daily walk was due. */
  readonly lateSyncSeconds: number;
}

const COUNTED_MAX = 10_000;

type Parked = Pick<PaymentFigures, 'parkedPushes' | 'parkedBecause'>;
type TableFigures = Omit<PaymentFigures, keyof Parked>;

const NONE_PARKED: Parked = { parkedPushes: 0, parkedBecause: null };

/** @param countParked from the read model of rewards. @throws while the database is unavailable. */
export async function paymentFigures(
  pool: Pool,
  countParked: (tenants: readonly string[], bound: number) => Promise<Parked>,
): Promise<PaymentFigures> {
  const tenants = await fetchRows(
    pool,
    sql<{ tenant: string }>`select distinct tenant from ledger.payment_tenants`,
  );
  const [inTables, parked] = await Promise.all([
    tableFigures(pool),
    tenants.length === 0
      ? NONE_PARKED
      : countParked(
          tenants.map(({ tenant }) => tenant),
          COUNTED_MAX,
        ),
  ]);
  return { ...inTables, ...parked };
}

const seconds = (time: RawBuilder<unknown>) =>
  sql`coalesce(greatest(0, extract(epoch from now() - ${time})), 0)::double precision`;

/** What waits for its customer or tenant is not late. */
export async function tableFigures(db: Connection): Promise<TableFigures> {
  const row = await fetchRow(
    db,
    sql<TableFigures>`
      with to_pay as materialized (
        select waiting_since from ledger.work_items work
        where kind = ${PAYMENTS} and waiting_since <= now()
          and reason is distinct from ${WAITS_FOR.subscription}
          and not exists (
            select from ledger.work_items other
            where other.kind = ${PAYMENTS} and other.tenant = work.tenant
              and other.lane = work.lane and other.reason = ${WAITS_FOR.connection})
      )
      select (
          select count(*)::integer from (
            select from ledger.payment_waiting_events
            where not is_linked and at >= ${new Date(timeNow() - WAITS_MS)} limit ${COUNTED_MAX}
          ) as waiting
        ) as "waitingEvents",
        (select least(count(*), ${COUNTED_MAX})::integer from to_pay) as "waitingPushes",
        (select ${seconds(sql`min(waiting_since)`)} from to_pay) as "oldestWaitingPushSeconds",
        (
          select ${seconds(sql`min(waiting_since)`)} from ledger.work_items where kind = ${WALKS}
        ) as "lateSyncSeconds"`,
  );
  return (
    row ?? { waitingEvents: 0, waitingPushes: 0, oldestWaitingPushSeconds: 0, lateSyncSeconds: 0 }
  );
}
