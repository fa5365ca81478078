import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import type { Scope } from '../../domain/scope.js';
import { fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';
import { RETRIED_FOR_MS } from './mail-retries.js';
import { inTransaction } from '../../postgres/transaction.js';
import {
  ListedDeliveries,
  type DeliveryFilter,
  type ListedDelivery,
} from '../../work-queue/listed-deliveries.js';
import { addWork } from '../../work-queue/work-items.js';
import { DAILY_LIMIT, MAILS } from './mail-rows.js';

const RETRIED_FOR = `${RETRIED_FOR_MS} ms`;

/** Mails as operators see and resend them, without personal values. */

export const MAIL_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNKNOWN'] as const;
export type MailState = (typeof MAIL_STATES)[number];

export type MailRow = ListedDelivery & {
  readonly eventId: string;
  readonly state: MailState;
  readonly reason: string | null;
};

export interface MailFilter extends DeliveryFilter {
  readonly state?: MailState | undefined;
  /** The recipient's account as a keyed hash. */
  readonly account?: string | undefined;
}

/** A mail in `SENDING` is shown as pending. */
export const MAIL_LIST = new ListedDeliveries<MailFilter, MailRow>({
  table: 'ledger.mail_deliveries',
  kind: MAILS,
  columns: sql`event_id as "eventId", reason,
    case state when 'SENDING' then 'PENDING' else state end as state`,
  dueAt: sql`due_at`,
  conditions: ({ tenant, mode }, { state, account }) => [
    sql`tenant = ${tenant} and mode = ${mode}`,
    state === 'PENDING' ? sql`state in ('PENDING', 'SENDING')` : state && sql`state = ${state}`,
    account === undefined ? undefined : sql`account = ${account}`,
  ],
});

/** Makes an ended mail due again, with the same `Message-ID`. @returns false: it has not ended. */
export async function resendMail(
  pool: Pool,
  { tenant, mode }: Scope,
  id: string,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const resent = await run(
      client,
      sql`
        update ledger.mail_deliveries
        set state = 'PENDING', retried_until = null, ended_at = null,
          reason = case when reason = ${DAILY_LIMIT} then reason end
        where id = ${id} and tenant = ${tenant} and mode = ${mode}
          and state in ('DELIVERED', 'DEAD', 'UNKNOWN')`,
    );
    if (resent > 0) await addWork(client, [{ kind: MAILS, id, tenant, payload: {} }]);
    return resent > 0;
  });
}

export async function mailExists(pool: Pool, { tenant, mode }: Scope, id: string) {
  const rows = await fetchRows(
    pool,
    sql`select 1 from ledger.mail_deliveries
      where id = ${id} and tenant = ${tenant} and mode = ${mode}`,
  );
  return rows.length > 0;
}

/** Mails of all tenants and processes. */
export interface WaitingMails {
  /** Due or retried mails, counted up to a bound. */
  readonly waiting: number;
  /** Time since the oldest was due, or first failed. */
  readonly oldestWaitingSeconds: number;
  /** Age of the oldest due mail while no process sends any. */
  readonly unsentSeconds: number;
}

const WAITING_MAX = 10_000;
const IS_DUE = sql`kind = ${MAILS} and claimed_by is null and given_up_at is null and due_at <= now()`;

/** @throws while the database is unavailable. */
export async function waitingMails(pool: Connection): Promise<WaitingMails> {
  const seconds = (time: RawBuilder<unknown>) =>
    sql<number>`coalesce(greatest(0, extract(epoch from now() - ${time})), 0)::double precision`;
  const row = await fetchRow(
    pool,
    sql<WaitingMails>`
      with figures as (
        select (
          select min(due_at) from ledger.work_items where ${IS_DUE}
        ) as due, (
          select min(retried_until) - ${RETRIED_FOR}::interval from ledger.mail_deliveries
          where retried_until is not null and ended_at is null
        ) as failed, (
          select max(claimed_until) from ledger.work_items
          where kind = ${MAILS} and claimed_by is not null
        ) as sending, (
          select max(ended_at) from ledger.mail_deliveries where ended_at is not null
        ) as ended
      )
      select ((
          select count(*) from (
            select from ledger.work_items w join ledger.mail_deliveries m on m.id = w.id::uuid
            where ${IS_DUE} and retried_until is null limit ${WAITING_MAX}
          ) due
        ) + (
          select count(*) from (
            select from ledger.mail_deliveries
            where retried_until is not null and ended_at is null limit ${WAITING_MAX}
          ) retried
        ) + (
          select count(*) from ledger.mail_deliveries
          where state = 'SENDING' and retried_until is null
        ))::integer as waiting,
        ${seconds(sql`least(due, failed)`)} as "oldestWaitingSeconds",
        case when due is null or sending > now() then 0
          else ${seconds(sql`greatest(due, ended)`)} end as "unsentSeconds"
      from figures`,
  );
  return row ?? { waiting: 0, oldestWaitingSeconds: 0, unsentSeconds: 0 };
}
