import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import type { Scope } from '../../domain/scope.js';
import { fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';
import { RETRIED_FOR_MS } from './mail-retries.js';
import { inTransaction } from '../../postgres/transaction.js';
import { addWork } from '../../work-queue/work-items.js';
import { DAILY_LIMIT, MAILS } from './mail-rows.js';

const RETRIED_FOR = `${RETRIED_FOR_MS} ms`;

/** Mails as operators see and resend them, without personal values. */

export const MAIL_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNKNOWN'] as const;
export type MailState = (typeof MAIL_STATES)[number];

export interface MailRow {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly state: MailState;
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly reason: string | null;
  readonly created: Date;
}

export interface MailFilter {
  readonly state?: MailState | undefined;
  readonly type?: string | undefined;
  /** The recipient's account as a keyed hash. */
  readonly account?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

export const MAIL_SORTS = ['created', 'type', 'state', 'attempts'] as const;
export type MailSort = (typeof MAIL_SORTS)[number];

interface MailPage {
  readonly limit: number;
  readonly offset?: number;
  readonly sort?: MailSort;
  /** False: ascending. */
  readonly descending?: boolean;
}

/** Newest first by default. A mail in `SENDING` is shown as pending. */
export function listMails(
  pool: Pool,
  scope: Scope,
  { limit, offset = 0, sort = 'created', descending = true, ...filter }: MailFilter & MailPage,
): Promise<readonly MailRow[]> {
  const direction = descending ? sql`desc` : sql`asc`;
  return fetchRows(
    pool,
    sql<MailRow>`
      select id, event_id as "eventId", type,
        case state when 'SENDING' then 'PENDING' else state end as state,
        attempts, reason, created, (
          select due_at from ledger.work_items
          where kind = ${MAILS} and work_items.id = mail_deliveries.id::text
        ) as "nextAttemptAt"
      ${matching(scope, filter)}
      order by ${sql.ref(`mail_deliveries.${sort}`)} ${direction}, mail_deliveries.created desc, id
      limit ${limit} offset ${offset}`,
  );
}

/** The number of matching mails, counted up to `countedMax` + 1. */
export async function countMails(
  pool: Pool,
  scope: Scope,
  filter: MailFilter,
  countedMax: number,
): Promise<number> {
  const row = await fetchRow(
    pool,
    sql<{ count: number }>`
      select count(*)::integer as count
      from (select ${matching(scope, filter)} limit ${countedMax + 1}) counted`,
  );
  return row?.count ?? 0;
}

function matching({ tenant, mode }: Scope, { state, type, account, since, until }: MailFilter) {
  const states = state === 'PENDING' ? ['PENDING', 'SENDING'] : state && [state];
  return sql`
    from ledger.mail_deliveries
    where tenant = ${tenant} and mode = ${mode}
      and (${states ?? null}::text[] is null or state = any(${states ?? null}::text[]))
      and (${type ?? null}::text is null or type = ${type ?? null}::text)
      and (${account ?? null}::text is null or account = ${account ?? null}::text)
      and (${since ?? null}::timestamptz is null or created >= ${since ?? null}::timestamptz)
      and (${until ?? null}::timestamptz is null or created <= ${until ?? null}::timestamptz)`;
}

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
