import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { LedgerMode } from '../../domain/scope.js';
import type { EventPlace } from '../../event-log/event-pages.js';
import { epochMs, fetchRow, fetchRows, run, type Connection } from '../../postgres/statements.js';
import { atDate } from '../../reacting/ledger-dates.js';
import type { MailType } from '../../themes/theme-instance.js';
import type { ClaimedWork } from '../../work-queue/work-items.js';
import { RETRIED_FOR_MS } from './mail-retries.js';

/** The rows of mails hold ids of the ledger only. */

/** The recipient and subject of a mail. */
export interface PlannedMail {
  readonly id: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly type: MailType;
  /** The recipient's account. */
  readonly account: string;
  readonly person: string;
  readonly about: string | null;
  readonly event: EventPlace;
  /** Epoch milliseconds. */
  readonly created: number;
}

/** A mail that has not ended. */
export interface OpenMail extends PlannedMail {
  readonly state: 'PENDING' | 'SENDING';
  /** Earlier attempts. */
  readonly attempts: number;
  /** `DAILY_LIMIT`: an operator resends it. */
  readonly reason: string | null;
}

/** Work kind of mails. */
export const MAILS = 'mail';

/** The reason of a mail above `MAILS_A_DAY_MAX`. */
export const DAILY_LIMIT = 'daily limit';
/** Limit per address, tenant, mode and day (UTC). */
export const MAILS_A_DAY_MAX = 20;

/** Limit of an SMTP conversation, whatever the server does. */
const CONVERSATION_MS = 60_000;
/** Making the mail may take as long again. */
export const LEASE_MS = 2 * CONVERSATION_MS;
const RETRIED_FOR = `${RETRIED_FOR_MS} ms`;

/** Does nothing if the mail exists. @param dueAt epoch milliseconds. */
export async function planMail(
  pool: Connection,
  { event, created, ...mail }: PlannedMail,
  dueAt: number,
  ledgerDate?: number,
): Promise<void> {
  const due = sql`${new Date(dueAt)}::timestamptz`;
  const payload = JSON.stringify(ledgerDate === undefined ? {} : atDate(ledgerDate));
  await run(
    pool,
    sql`
      with planned as (
        insert into ledger.mail_deliveries (id, tenant, mode, type, account, person, about, stream,
          revision, event_id, created)
        values (${mail.id}, ${mail.tenant}, ${mail.mode}, ${mail.type}, ${mail.account},
          ${mail.person}, ${mail.about}, ${event.stream}, ${event.revision}, ${event.eventId},
          ${new Date(created)})
        on conflict (id) do nothing returning id, tenant
      )
      insert into ledger.work_items (kind, id, tenant, due_at, waiting_since, payload)
      select ${MAILS}, id::text, tenant, ${due}, ${due}, ${payload}::jsonb from planned`,
  );
}

/** Undefined: it has ended. */
export async function findOpenMail(pool: Connection, id: string): Promise<OpenMail | undefined> {
  const row = await fetchRow(
    pool,
    sql<Omit<OpenMail, 'event'> & OpenMail['event']>`
      select id, tenant, mode, type, account, person, about, stream, revision,
        event_id as "eventId", ${epochMs(sql<Date>`created`)} as created, state, attempts, reason
      from ledger.mail_deliveries where id = ${id} and state in ('PENDING', 'SENDING')`,
  );
  if (row === undefined) return undefined;
  const { stream, revision, eventId, ...mail } = row;
  return { ...mail, event: { stream, revision, eventId } };
}

/**
 * Marks the mail as possibly sent.
 * @returns false: the claim lapses too soon, and the mail must not be sent.
 */
export async function beginSending(
  pool: Connection,
  { id, claimedUntil }: Pick<ClaimedWork, 'id' | 'claimedUntil'>,
): Promise<boolean> {
  const begun = await run(
    pool,
    sql`
      update ledger.mail_deliveries set state = 'SENDING', attempts = attempts + 1
      where id = ${id} and state = 'PENDING' and exists (
        select from ledger.work_items
        where kind = ${MAILS} and id = ${id} and claimed_until = ${claimedUntil}::timestamptz
          and claimed_until > now() + ${`${CONVERSATION_MS} ms`}::interval
      )`,
  );
  return begun > 0;
}

/**
 * Counts a mail to an address.
 * @param address keyed digest of address, mode and day. @returns false: the limit is exceeded.
 */
export async function countDailyMail(
  pool: Connection,
  tenant: string,
  address: string,
): Promise<boolean> {
  const [counted] = await fetchRows(
    pool,
    sql<{ readonly calls: number }>`
      insert into ledger.call_counts (tenant, call, client, began, calls)
      values (${tenant}, 'mail', ${address}, now(), 1)
      on conflict (tenant, call, client) do update set calls = call_counts.calls + 1
      returning calls`,
  );
  return counted !== undefined && counted.calls <= MAILS_A_DAY_MAX;
}

export type Outcome =
  /** The server accepted it. */
  | { readonly kind: 'delivered' }
  /** The server may have accepted it. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** The server rejected it permanently. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The recipient must not get it. */
  | { readonly kind: 'not-sent'; readonly reason: string }
  /** The server did not accept it; it is retried for a time. */
  | { readonly kind: 'failed'; readonly reason: string; readonly inMs: number }
  /** Neither the mail nor the server failed: the attempt does not count. */
  | { readonly kind: 'postponed'; readonly reason: string; readonly inMs: number };

const ENDS = {
  delivered: 'DELIVERED',
  unknown: 'UNKNOWN',
  refused: 'DEAD',
  'not-sent': 'DEAD',
} as const;

/**
 * Leaves ended mails and later attempts unchanged, because the statement may run late.
 * @param attempts of the mail, including this one once it began. @returns whether it is retried.
 */
export async function recordOutcome(
  pool: Connection,
  { id, attempts }: Pick<OpenMail, 'id' | 'attempts'>,
  outcome: Outcome,
): Promise<boolean> {
  const reason = 'reason' in outcome ? outcome.reason : null;
  const isOpen = sql`id = ${id} and state in ('PENDING', 'SENDING') and attempts = ${attempts}`;
  if (outcome.kind === 'failed' || outcome.kind === 'postponed') {
    const next = sql`now() + ${outcome.inMs} * interval '1 millisecond'`;
    const until = sql`coalesce(retried_until, now() + ${RETRIED_FOR}::interval)`;
    const isOver = outcome.kind === 'failed' ? sql`${next} > ${until}` : sql`false`;
    const row = await fetchRow(
      pool,
      sql<{ state: string }>`
        update ledger.mail_deliveries
        set state = case when ${isOver} then 'DEAD' else 'PENDING' end, reason = ${reason},
          retried_until = ${outcome.kind === 'failed' ? until : sql`retried_until`},
          ended_at = case when ${isOver} then now() end
        where ${isOpen} returning state`,
    );
    return row?.state === 'PENDING';
  }
  await run(
    pool,
    sql`
      update ledger.mail_deliveries
      set state = ${ENDS[outcome.kind]}, reason = ${reason}, ended_at = now()
      where ${isOpen}`,
  );
  return false;
}

/** Deletes mails that ended before. @returns their number. */
export async function purgeMails(pool: Pool, before: Date, limit: number): Promise<number> {
  return run(
    pool,
    sql`
      delete from ledger.mail_deliveries where id in (
        select id from ledger.mail_deliveries where ended_at < ${before} limit ${limit}
      )`,
  );
}
