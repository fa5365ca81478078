import { sql } from 'kysely';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { ProcessPresence } from '../../postgres/process-presence.js';
import { boundTo, fetchRows, run, type Connection } from '../../postgres/statements.js';

/** The accounts whose rewards the payment provider is to pay: a row each, work and not facts. */

/** An account that this process works on. */
export interface ClaimedWork extends Scope {
  readonly account: AccountRef;
  /** In a row. */
  readonly failures: number;
  readonly retriesParked: boolean;
  /** As it was when the account was claimed. */
  readonly woken: bigint;
}

/** What may be claimed. */
export interface WorkRoom {
  readonly accounts: number;
  readonly ofTenant: number;
  /** The tenant of each account that this process works on. */
  readonly underWay: readonly string[];
  /** Tenants and modes that are left out, as `scopeKey` names them. */
  readonly paused: readonly string[];
  /** Tenants after this one come first. */
  readonly after: string;
}

/** What comes next for an account. */
export type NextWork =
  /** Nothing, until an event asks for it. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'later';
      /** Milliseconds, or the time of a date in epoch milliseconds. */
      readonly after: { readonly ms: number } | { readonly at: number };
      readonly failures: number;
      readonly reason: string | null;
      readonly retriesParked: boolean;
    };

/** Reasons that are no fault: what waits for them is not late. */
export const WAITS_FOR = {
  subscription: 'no subscription yet',
  connection: 'the tenant is suspended or not connected',
} as const;

export const scopeKey = ({ tenant, mode }: Scope): string => `${tenant} ${mode}`;

/** All calls for an account end before: then another process may claim it. */
const LEASE = '180 seconds';

/** In Postgres, for any number of processes. */
export class PostgresPaymentWork {
  constructor(
    private readonly pool: Connection,
    private readonly presence: Pick<ProcessPresence, 'id'>,
  ) {}

  /** The tenants in turn, so many accounts of each at once. A claim ends with its process. */
  claim({
    accounts,
    ofTenant,
    underWay,
    paused,
    after,
  }: WorkRoom): Promise<readonly ClaimedWork[]> {
    const { id: process } = this.presence;
    return fetchRows(
      this.pool,
      sql<ClaimedWork>`
        with recursive tenants (tenant) as (
          (select tenant from ledger.payment_work order by tenant limit 1)
          union all
          select (select w.tenant from ledger.payment_work w
            where w.tenant > t.tenant order by w.tenant limit 1)
          from tenants t where t.tenant is not null
        ), due as materialized (
          select d.tenant, d.mode, d.account from tenants t cross join lateral (
            select tenant, mode, account from ledger.payment_work
            where tenant = t.tenant and next_attempt_at <= now()
              and tenant || ' ' || mode <> all(${paused}::text[])
              and (leased_until is null or leased_until < now()
                or (claimed_by <> ${process} and ${ProcessPresence.isGone(sql`claimed_by`)}))
            order by next_attempt_at
            limit greatest(0, ${ofTenant} - (
              select count(*) from unnest(${underWay}::text[]) as one where one = t.tenant))
            for update skip locked
          ) d
          where t.tenant is not null
          order by t.tenant <= ${after}, t.tenant limit ${accounts}
        )
        update ledger.payment_work w
        set leased_until = now() + ${LEASE}::interval, claimed_by = ${process}
        from due
        where w.tenant = due.tenant and w.mode = due.mode and w.account = due.account
        returning w.tenant, w.mode, w.account, w.failures,
          w.retries_parked as "retriesParked", w.woken`,
    );
  }

  /** An account that was asked for meanwhile is due at once, whatever comes next. */
  async release(work: ClaimedWork, next: NextWork): Promise<void> {
    const { tenant, mode, account, woken } = work;
    const isMine = sql`tenant = ${tenant} and mode = ${mode} and account = ${account}
      and claimed_by = ${this.presence.id}`;
    if (next.kind === 'none') {
      const ended = await run(
        this.pool,
        sql`delete from ledger.payment_work where ${isMine} and woken = ${woken}`,
      );
      if (ended > 0) return;
    }
    const { after, failures, reason, retriesParked } = next.kind === 'none' ? AT_ONCE : next;
    const at =
      'at' in after
        ? sql`${new Date(after.at)}::timestamptz`
        : sql`now() + ${after.ms} * interval '1 millisecond'`;
    await run(
      this.pool,
      sql`
        update ledger.payment_work
        set next_attempt_at = case when woken = ${woken} then ${at} else now() end,
          waiting_since = case when woken = ${woken} and ${'at' in after} then ${at}
            when ${next.kind === 'none'} or reason = any(${Object.values(WAITS_FOR)}) then now()
            else waiting_since end,
          failures = ${failures}, reason = ${reason},
          retries_parked = ${retriesParked} or (retries_parked and woken <> ${woken}),
          leased_until = null, claimed_by = null
        where ${isMine}`,
    );
  }
}

export type PaymentWork = Pick<PostgresPaymentWork, 'claim' | 'release'>;

const AT_ONCE = { after: { ms: 0 }, failures: 0, reason: null, retriesParked: false } as const;

/** An account that is to be worked on. */
export interface AskedFor extends Scope {
  readonly account: AccountRef;
  /** Epoch milliseconds; null: at once. */
  readonly dueAt: number | null;
  /** Whether refused rewards are tried again. */
  readonly retriesParked?: boolean;
}

/** Where accounts are asked for: in Postgres. */
export const workAsks = (db: Connection) => boundTo(db, { ask: askForWork, wake: wakeWork });

export type WorkAsks = ReturnType<typeof workAsks>;

/** Asks for an account. Harmless when repeated. */
export async function askForWork(
  connection: Connection,
  { tenant, mode, account, dueAt, retriesParked = false }: AskedFor,
): Promise<void> {
  const at = dueAt === null ? sql`now()` : sql`${new Date(dueAt)}::timestamptz`;
  await run(
    connection,
    sql`
      insert into ledger.payment_work as w
        (tenant, mode, account, next_attempt_at, waiting_since, retries_parked)
      values (${tenant}, ${mode}, ${account}, ${at}, ${at}, ${retriesParked})
      on conflict (tenant, mode, account) do update
      set next_attempt_at = least(w.next_attempt_at, excluded.next_attempt_at),
        waiting_since = least(w.waiting_since, excluded.waiting_since),
        retries_parked = w.retries_parked or excluded.retries_parked, woken = w.woken + 1`,
  );
}

/** Looks again at an account that is waited for; nothing where nothing waits. */
export async function wakeWork(
  connection: Connection,
  { tenant, mode, account }: Omit<AskedFor, 'dueAt'>,
): Promise<void> {
  await run(
    connection,
    sql`
      update ledger.payment_work
      set next_attempt_at = now(), waiting_since = least(waiting_since, now()), woken = woken + 1
      where tenant = ${tenant} and mode = ${mode} and account = ${account}`,
  );
}
