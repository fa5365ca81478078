import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Mode } from '../../domain/scope.js';
import type { EventPlace } from '../../event-log/event-pages.js';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { epochMs, fetchRows, run, type Connection } from '../../postgres/statements.js';
import type { MailType } from '../../themes/theme-instance.js';
import { RETRIED_FOR_MS } from './mail-retries.js';

/** Mails in the database: for whom and why, by ids of the ledger alone. */

/** For whom a mail is, and what it is about. */
export interface PlannedMail {
  readonly id: string;
  readonly tenant: string;
  readonly mode: Mode;
  readonly type: MailType;
  /** The recipient's account. */
  readonly account: string;
  readonly person: string;
  /** The reward that it is about; null: none. */
  readonly about: string | null;
  readonly event: EventPlace;
  /** Epoch milliseconds. */
  readonly created: number;
}

/** A mail that this process is to send. */
export interface ClaimedMail extends PlannedMail {
  /** Made so far. */
  readonly attempts: number;
  /** `DAILY_LIMIT` of one that an operator sends again. */
  readonly reason: string | null;
}

/** Why a mail above `MAILS_A_DAY_MAX` was not sent. */
export const DAILY_LIMIT = 'daily limit';
/** To an address, of a tenant and mode, in a day (UTC). */
export const MAILS_A_DAY_MAX = 20;

/** A conversation with the server ends before, whatever the server does. */
export const LEASE_MS = 60_000;
const LEASE = `${LEASE_MS} ms`;
const RETRIED_FOR = `${RETRIED_FOR_MS} ms`;

/** Nothing, when the mail is there already. @param dueAt epoch milliseconds. */
export async function planMail(
  pool: Connection,
  { event, created, ...mail }: PlannedMail,
  dueAt: number,
): Promise<boolean> {
  const added = await run(
    pool,
    sql`
      insert into ledger.mail_deliveries (id, tenant, mode, type, account, person, about, stream,
        revision, event_id, created, next_attempt_at)
      values (${mail.id}, ${mail.tenant}, ${mail.mode}, ${mail.type}, ${mail.account},
        ${mail.person}, ${mail.about}, ${event.stream}, ${event.revision}, ${event.eventId},
        ${new Date(created)}, ${new Date(dueAt)})
      on conflict (id) do nothing`,
  );
  return added > 0;
}

/** How many mails a process claims at once, and of whom. */
export interface ClaimRoom {
  readonly mails: number;
  readonly ofTenant: number;
  /** The tenant of each mail that this process sends already. */
  readonly underWay: readonly string[];
  readonly after: string;
  readonly process: number;
}

/**
 * Claims due mails of the tenants in turn, beginning behind `after`: so many of each at once, those
 * under way included, and so many in all. A claim ends with its time, or with its process.
 */
export async function claimDue(pool: Connection, room: ClaimRoom): Promise<readonly ClaimedMail[]> {
  const rows = await fetchRows(
    pool,
    sql<Omit<ClaimedMail, 'event'> & ClaimedMail['event']>`
      with recursive tenants (tenant) as (
        (select tenant from ledger.mail_deliveries where state = 'PENDING'
          order by tenant limit 1)
        union all
        select (select d.tenant from ledger.mail_deliveries d
          where d.state = 'PENDING' and d.tenant > t.tenant order by d.tenant limit 1)
        from tenants t where t.tenant is not null
      ), due as materialized (
        select d.id from tenants t cross join lateral (
          select id from ledger.mail_deliveries
          where state = 'PENDING' and tenant = t.tenant and next_attempt_at <= now()
            and (leased_until is null or leased_until < now()
              or (claimed_by is not null and claimed_by <> ${room.process}
                and ${ProcessPresence.isGone(sql`claimed_by`)}))
          order by next_attempt_at
          limit greatest(0, ${room.ofTenant} - (
            select count(*) from unnest(${room.underWay}::text[]) as one where one = t.tenant))
          for update skip locked
        ) d
        where t.tenant is not null
        order by t.tenant <= ${room.after}, t.tenant limit ${room.mails}
      )
      update ledger.mail_deliveries d
      set leased_until = now() + ${LEASE}::interval, claimed_by = ${room.process}
      from due where d.id = due.id
      returning d.id, tenant, mode, type, account, person, about, stream, revision,
        event_id as "eventId", ${epochMs(sql<Date>`created`)} as created, attempts, reason`,
  );
  return rows.map(({ stream, revision, eventId, ...row }) => ({
    ...row,
    event: { stream, revision, eventId },
  }));
}

/**
 * From here on the mail may have been sent, whatever happens to this process.
 * @returns false: the claim has lapsed, and the mail must not be sent.
 */
export async function beginSending(
  pool: Connection,
  id: string,
  process: number,
): Promise<boolean> {
  const begun = await run(
    pool,
    sql`
      update ledger.mail_deliveries
      set state = 'SENDING', attempts = attempts + 1, leased_until = now() + ${LEASE}::interval
      where id = ${id} and state = 'PENDING' and claimed_by = ${process} and leased_until > now()`,
  );
  return begun > 0;
}

/**
 * Counts a mail to an address.
 * @param address keyed digest of the address, the mode and the day.
 * @returns false: there were `MAILS_A_DAY_MAX` before.
 */
export async function countOfDay(
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

/** What came of a claim. */
export type Outcome =
  /** The server has taken it. */
  | { readonly kind: 'delivered' }
  /** The server may have taken it. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** The server will never take it. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nobody is to get it. */
  | { readonly kind: 'not-sent'; readonly reason: string }
  /** The server has not taken it: again later, as long as that is worth it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly inMs: number }
  /** For no fault of the mail or the server: it does not count as an attempt. */
  | { readonly kind: 'postponed'; readonly reason: string; readonly inMs: number };

const ENDS = {
  delivered: 'DELIVERED',
  unknown: 'UNKNOWN',
  refused: 'DEAD',
  'not-sent': 'DEAD',
} as const;

/** A process's claim of a mail. */
export interface MailClaim {
  readonly id: string;
  readonly process: number;
  /** Of the mail, including this one once it began. */
  readonly attempts: number;
}

/**
 * What is no longer the process's own stays as it is; so does a later attempt of its own, if this
 * statement is executed late.
 */
export async function recordOutcome(
  pool: Connection,
  { id, process, attempts }: MailClaim,
  outcome: Outcome,
): Promise<void> {
  const reason = 'reason' in outcome ? outcome.reason : null;
  const isMine = sql`id = ${id} and state in ('PENDING', 'SENDING') and claimed_by = ${process}
    and attempts = ${attempts}`;
  if (outcome.kind === 'failed' || outcome.kind === 'postponed') {
    const next = sql`now() + ${outcome.inMs} * interval '1 millisecond'`;
    const until = sql`coalesce(retried_until, now() + ${RETRIED_FOR}::interval)`;
    const isOver = outcome.kind === 'failed' ? sql`${next} > ${until}` : sql`false`;
    await run(
      pool,
      sql`
        update ledger.mail_deliveries
        set state = case when ${isOver} then 'DEAD' else 'PENDING' end, reason = ${reason},
          next_attempt_at = case when ${isOver} then null else ${next} end,
          retried_until = ${outcome.kind === 'failed' ? until : sql`retried_until`},
          ended_at = case when ${isOver} then now() end, leased_until = null, claimed_by = null
        where ${isMine}`,
    );
    return;
  }
  await run(
    pool,
    sql`
      update ledger.mail_deliveries
      set state = ${ENDS[outcome.kind]}, reason = ${reason}, next_attempt_at = null,
        ended_at = now(), leased_until = null, claimed_by = null
      where ${isMine}`,
  );
}

/** Mails in whose sending a process ended: whether the server took them is unknown. */
export async function settleLost(pool: Pool, process: number): Promise<number> {
  return run(
    pool,
    sql`
      update ledger.mail_deliveries
      set state = 'UNKNOWN', reason = 'the process that sent it ended', next_attempt_at = null,
        ended_at = now(), leased_until = null, claimed_by = null
      where id in (
        select id from ledger.mail_deliveries
        where state = 'SENDING' and (leased_until < now()
          or (claimed_by <> ${process} and ${ProcessPresence.isGone(sql`claimed_by`)}))
        limit 100 for update skip locked
      )`,
  );
}

/** Deletes what ended before. @returns how many. */
export async function purgeMails(pool: Pool, before: Date, limit: number): Promise<number> {
  return run(
    pool,
    sql`
      delete from ledger.mail_deliveries where id in (
        select id from ledger.mail_deliveries where ended_at < ${before} limit ${limit}
      )`,
  );
}
