import { sql } from 'kysely';
import type { Pool } from 'pg';
import { ProcessPresence } from '../postgres/process-presence.js';
import {
  anyOf,
  boundTo,
  compiledOnce,
  fetchRow,
  fetchRows,
  run,
  type Connection,
  type Given,
} from '../postgres/statements.js';

/** The rows of `ledger.work_items`: background work of every kind. */

/** Ids of the ledger; nothing that identifies a person. */
export type WorkPayload = Readonly<Record<string, string>>;

/** Work that is done once; a failed attempt is repeated. */
export interface NewWork {
  readonly kind: string;
  /** Unique within the kind. */
  readonly id: string;
  /** Empty: the work belongs to no tenant. */
  readonly tenant: string;
  /** Items of a tenant that share a bound. */
  readonly lane?: string;
  /** Epoch milliseconds. Default: now, by the database's clock. */
  readonly dueAt?: number | null;
  readonly payload: WorkPayload;
}

/**
 * What an addition does to an existing item. `replacement`: replaces it. `earlier`: makes it due at
 * the earlier time and merges the payload; an item that was given up begins anew. `missing`: leaves
 * it as it is.
 */
export type AdditionMode = 'replacement' | 'earlier' | 'missing';

export interface ClaimedWork {
  readonly id: string;
  readonly tenant: string;
  readonly lane: string;
  /** Including this one. */
  readonly attempts: number;
  readonly payload: WorkPayload;
  /** Milliseconds since it was last due, and since it was first due. */
  readonly lateMs: number;
  readonly waitingMs: number;
  /** When it was due first, epoch milliseconds. */
  readonly firstDueAt: number;
  readonly woken: bigint;
  /** Identifies the claim. */
  readonly claimedUntil: string;
}

export type WorkOutcome =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again';
      /** A delay in milliseconds, or a time in epoch milliseconds. */
      readonly after: { readonly ms: number } | { readonly at: number };
      /** Shown to operators: ids and codes only. */
      readonly reason: string | null;
      /** The cause is outside the item: the attempt does not count. */
      readonly isPostponed?: boolean;
      /**
       * It waits for a date, or for something outside this work: its waiting time counts from the
       * new due time.
       */
      readonly waits?: boolean;
      /** Number of attempts that still count; undefined: all. */
      readonly attempts?: number;
      readonly payload?: WorkPayload;
    }
  /** It is not retried automatically. */
  | { readonly kind: 'dead'; readonly reason: string };

export const DONE = { kind: 'done' } as const satisfies WorkOutcome;

/** A retry after this many milliseconds. */
export const againIn = (ms: number, reason: string | null = null) =>
  ({ kind: 'again', after: { ms }, reason }) as const satisfies WorkOutcome;

/** A retry after this many milliseconds; this attempt does not count. */
export const postponedFor = (ms: number, reason: string | null = null) =>
  ({ ...againIn(ms, reason), isPostponed: true }) as const satisfies WorkOutcome;

export interface SettledWork {
  readonly item: ClaimedWork;
  readonly outcome: WorkOutcome;
}

export interface ClaimLimits {
  readonly kind: string;
  readonly process: number;
  readonly items: number;
  /** Bound per tenant in this process. */
  readonly ofTenant: number;
  /** Bound per lane in all processes. */
  readonly ofLane: number;
  /** The tenant of each item that this process works on. */
  readonly underWay: readonly string[];
  /** Names of skipped lanes, see `laneName`. */
  readonly paused: readonly string[];
  /** Lanes limited to one item. */
  readonly narrow: readonly string[];
  /** Tenants after this one come first. */
  readonly after: string;
  readonly leaseMs: number;
}

/** Suffix of lanes that come first in their tenant, with places of their own next to its bound. */
export const FIRST = ' first';
/** Of a row with a column `lane`. */
export const IS_FIRST = sql<boolean>`lane like ${`%${FIRST}`}`;
export const PLACES_FOR_FIRST = 8;

export const laneName = (tenant: string, lane: string): string => `${tenant} ${lane}`;

export interface ClaimHolder {
  readonly kind: string;
  readonly process: number;
  readonly ids: readonly string[];
  /** Processes that were gone at the previous call. */
  readonly missed: readonly number[];
}

/** Adds work, within the caller's transaction. Harmless when repeated. */
export async function addWork(
  db: Connection,
  work: readonly NewWork[],
  as: AdditionMode = 'earlier',
): Promise<void> {
  if (work.length === 0) return;
  const rows = work.map(({ dueAt = null, ...item }) => ({
    ...item,
    dueAt: dueAt === null ? null : timeText(dueAt),
  }));
  await run(db, ADD_WORK({ rows: JSON.stringify(rows), as }));
}

const LATEST = Date.UTC(9999, 11, 31);

/** Limited to years of four digits, which the database accepts. */
const timeText = (at: number): string => new Date(Math.min(Math.max(at, 0), LATEST)).toISOString();

// A claimed item keeps its claim and is due again after it.
const ADD_WORK = compiledOnce(
  'work_items.add',
  ({ rows, as }: Given<{ rows: string; as: AdditionMode }>) => {
    const isReplaced = sql`${as}::text = 'replacement'`;
    const isNew = sql`(${isReplaced} or w.given_up_at is not null)`;
    return sql`
      insert into ledger.work_items as w
        (kind, id, tenant, lane, due_at, waiting_since, payload)
      select kind, id, tenant, coalesce(lane, ''), coalesce("dueAt", now()),
        coalesce("dueAt", now()), payload
      from jsonb_to_recordset(${rows}::jsonb) as given (
        kind text, id text, tenant text, lane text, "dueAt" timestamptz, payload jsonb
      )
      order by kind, id
      on conflict (kind, id) do update
      set lane = case when ${isReplaced} then excluded.lane else w.lane end,
        due_at = case when ${isNew} then excluded.due_at
          else least(w.due_at, excluded.due_at) end,
        waiting_since = case when ${isNew} then excluded.due_at
          else least(w.waiting_since, excluded.due_at) end,
        payload = case when ${isReplaced} then excluded.payload
          else w.payload || excluded.payload end,
        attempts = case when ${isNew} then 0 else w.attempts end, woken = w.woken + 1,
        given_up_at = null, reason = null
      where ${as}::text <> 'missing'`;
  },
);

/**
 * The commit does not wait for the disk, and a crash may lose it. A lost claim is made again; after
 * a lost outcome the kind finds its own record of the work or repeats it.
 */
const ASYNC_COMMIT = sql`(select set_config('synchronous_commit', 'off', true)) as lost (setting)`;

const IS_OPEN = sql`claimed_by is null and given_up_at is null`;

/** Whether there may be due items: cheaper than an empty claim. */
export async function isAnyDue(db: Connection, kind: string): Promise<boolean> {
  return (await fetchRow(db, ANY_DUE({ kind })))?.isDue ?? false;
}

const ANY_DUE = compiledOnce(
  'work_items.any_due',
  ({ kind }: Given<{ kind: string }>) => sql<{ isDue: boolean }>`
    select exists (
      select from ledger.work_items where kind = ${kind} and ${IS_OPEN} and due_at <= now()
    ) as "isDue"`,
);

/**
 * Claims due items, first of the tenant with the fewest running ones. The index visits the lanes,
 * so the cost does not depend on the number of waiting items. A claim ends with its time or its
 * process. @throws while the database is unavailable.
 */
export function claimWork(db: Connection, room: ClaimLimits): Promise<ClaimedWork[]> {
  return fetchRows(db, CLAIMED({ ...room }));
}

const CLAIMED = compiledOnce(
  'work_items.claim',
  (room: Given<ClaimLimits>) => sql<ClaimedWork>`
    with recursive lanes (tenant, lane) as (
      (select tenant, lane from ledger.work_items where kind = ${room.kind} and ${IS_OPEN}
        order by tenant, lane limit 1)
      union all
      select next.tenant, next.lane from lanes l cross join lateral (
        select tenant, lane from ledger.work_items
        where kind = ${room.kind} and ${IS_OPEN} and (tenant, lane) > (l.tenant, l.lane)
        order by tenant, lane limit 1
      ) next
    ), busy as materialized (
      select tenant, lane, count(*) as items from ledger.work_items
      where kind = ${room.kind} and claimed_by is not null group by tenant, lane
    ), mine as materialized (
      select tenant, count(*) as items from unnest(${room.underWay}::text[]) as one (tenant)
      group by tenant
    ), due as (
      select d.id, l.tenant, l.is_first, coalesce(m.items, 0)
        + row_number() over (partition by l.tenant order by l.is_first desc, d.place, d.due_at)
          as place
      from (select *, ${IS_FIRST} as is_first from lanes) l
      left join busy b on b.tenant = l.tenant and b.lane = l.lane
      left join mine m on m.tenant = l.tenant
      cross join lateral (
        select id, due_at, row_number() over (order by due_at) as place from (
          select id, due_at from ledger.work_items
          where kind = ${room.kind} and tenant = l.tenant and lane = l.lane and ${IS_OPEN}
            and due_at <= now()
          order by due_at
          limit greatest(0, least(${room.ofTenant}::integer, ${room.items}::integer,
            case when l.tenant || ' ' || l.lane = any(${room.narrow}::text[]) then 1
              else ${room.ofLane}::integer end - coalesce(b.items, 0)))
        ) first
      ) d
      where l.tenant || ' ' || l.lane <> all(${room.paused}::text[])
    ), chosen as materialized (
      select id from due
      where place <= ${room.ofTenant}::integer + case when is_first then ${PLACES_FOR_FIRST}::integer else 0 end
      order by place, tenant <= ${room.after}, tenant limit ${room.items}::integer
    ), locked as materialized (
      select id, due_at from ledger.work_items
      where kind = ${room.kind} and id in (select id from chosen) and ${IS_OPEN}
        and due_at <= now()
      for update skip locked
    )
    update ledger.work_items w
    set claimed_by = ${room.process}, claimed_at = now(), attempts = attempts + 1,
      claimed_until = now() + ${room.leaseMs}::double precision * interval '1 millisecond'
    from locked, ${ASYNC_COMMIT}
    where w.kind = ${room.kind} and w.id = locked.id and lost.setting = 'off'
    returning w.id, w.tenant, w.lane, w.attempts, w.payload, w.woken,
      (extract(epoch from now() - locked.due_at) * 1000)::double precision as "lateMs",
      (extract(epoch from now() - w.waiting_since) * 1000)::double precision as "waitingMs",
      (extract(epoch from w.waiting_since) * 1000)::double precision as "firstDueAt",
      w.claimed_until::text as "claimedUntil"`,
);

/**
 * Records outcomes and ends their claims. A lapsed claim changes nothing; an item that was added
 * again meanwhile keeps its new time.
 */
export async function settleWork(
  db: Connection,
  { kind, process }: Pick<ClaimHolder, 'kind' | 'process'>,
  settled: readonly SettledWork[],
): Promise<void> {
  const ids = settled.map(({ item }) => item.id);
  const rows = JSON.stringify(settled.map(settledRow));
  await run(db, SETTLE_WORK({ kind, process, ids, rows }));
}

function settledRow({ item, outcome }: SettledWork): Readonly<Record<string, unknown>> {
  const { id, claimedUntil, woken } = item;
  const claim = { id, claimedUntil, woken: String(woken), kind: outcome.kind };
  if (outcome.kind !== 'again') return { ...claim, attempts: item.attempts, ...outcome };
  const { after, isPostponed = false, attempts = item.attempts, ...rest } = outcome;
  return {
    ...claim,
    ...rest,
    attempts: isPostponed ? item.attempts - 1 : attempts,
    ...('ms' in after ? { inMs: after.ms } : { at: timeText(after.at) }),
  };
}

interface SettledBatch {
  readonly kind: string;
  readonly process: number;
  readonly ids: readonly string[];
  readonly rows: string;
}

// With an array the planner knows the number of rows.
const SETTLE_WORK = compiledOnce(
  'work_items.settle',
  ({ kind, process, ids, rows }: Given<SettledBatch>) => sql`
    with given as materialized (
      select * from jsonb_to_recordset(${rows}::jsonb) as given (
        id text, "claimedUntil" timestamptz, woken bigint, kind text, "inMs" double precision,
        at timestamptz, reason text, attempts integer, payload jsonb, waits boolean
      )
    ), claims as materialized (
      select w.id, g.kind, g.reason, g.attempts, g.payload, w.woken <> g.woken as is_woken,
        coalesce(g.at, now() + g."inMs" * interval '1 millisecond') as due_at, g.waits
      from ledger.work_items w join given g on g.id = w.id cross join ${ASYNC_COMMIT}
      where lost.setting = 'off' and w.kind = ${kind} and w.id = any(${ids}::text[])
        and w.claimed_by = ${process} and w.claimed_until = g."claimedUntil"
      for update of w
    ), done as (
      delete from ledger.work_items w using claims c
      where w.kind = ${kind} and w.id = any(${ids}::text[]) and w.id = c.id and c.kind = 'done'
        and not c.is_woken
    )
    update ledger.work_items w
    set claimed_by = null, claimed_at = null, claimed_until = null,
      due_at = case when c.is_woken then w.due_at else coalesce(c.due_at, w.due_at) end,
      waiting_since = case when c.is_woken and c.kind = 'done' then greatest(now(), w.due_at)
        when c.waits and not c.is_woken then c.due_at else w.waiting_since end,
      attempts = case when not c.is_woken then c.attempts when c.kind = 'done' then 0
        else least(w.attempts, c.attempts) end,
      payload = case when c.is_woken then w.payload else coalesce(c.payload, w.payload) end,
      reason = c.reason,
      given_up_at = case when c.kind = 'dead' and not c.is_woken then now() end
    from claims c
    where w.kind = ${kind} and w.id = any(${ids}::text[]) and w.id = c.id
      and (c.kind <> 'done' or c.is_woken)`,
);

/**
 * The answer of a claim query takes less than this: of an older claim of this process that it does
 * not hold, the answer was lost.
 */
const ANSWER_WITHIN = sql`interval '10 s'`;

/**
 * Ends claims without a worker:
 * - claims of processes that were gone at this call and at the previous one;
 * - claims of this process for items that it does not hold;
 * - lapsed claims, except for items that this process holds.
 * @returns gone processes, for the next call.
 */
export async function releaseOrphans(
  db: Connection,
  { kind, process, ids, missed }: ClaimHolder,
): Promise<readonly number[]> {
  const rows = await fetchRows(
    db,
    sql<{ process: number }>`
      with processes as materialized (
        select distinct claimed_by as process from ledger.work_items
        where kind = ${kind} and claimed_by <> ${process}
      )
      select process from processes where ${ProcessPresence.isGone(sql`process`)}`,
  );
  const gone = rows.map((row) => row.process);
  const dead = gone.filter((one) => missed.includes(one));
  await run(
    db,
    sql`
      update ledger.work_items
      set claimed_by = null, claimed_at = null, claimed_until = null
      where kind = ${kind} and claimed_by is not null
        and not (claimed_by = ${process} and id = any(${ids}::text[]))
        and (claimed_until < now() or claimed_by = ${anyOf(dead)}
          or (claimed_by = ${process} and claimed_at < now() - ${ANSWER_WITHIN}))`,
  );
  return gone;
}

/** Makes an existing item due now, even while a process works on it. */
export async function wakeWork(
  db: Connection,
  { kind, id }: Pick<NewWork, 'kind' | 'id'>,
): Promise<void> {
  await run(
    db,
    sql`
      update ledger.work_items
      set due_at = least(due_at, now()), waiting_since = least(waiting_since, now()),
        woken = woken + 1
      where kind = ${kind} and id = ${id}`,
  );
}

/**
 * Makes a tenant's items that wait for a date of the test clock due when its offset changes. Their
 * payload has the `date`, epoch milliseconds of that clock; 0: the work reads the date again.
 */
export async function moveWork(db: Connection, tenant: string, offsetMs: number): Promise<void> {
  await run(
    db,
    sql`
      update ledger.work_items w
      set due_at = least(w.due_at, moved.at), woken = w.woken + 1,
        waiting_since = least(w.waiting_since, greatest(moved.at, now()))
      from (
        select kind, id, case when payload ->> 'date' = '0' then now() else
          to_timestamp(((payload ->> 'date')::double precision - ${offsetMs}) / 1000) end as at
        from ledger.work_items
        where tenant = ${tenant} and payload ? 'date' and given_up_at is null
      ) moved
      where w.kind = moved.kind and w.id = moved.id and w.given_up_at is null`,
  );
}

export const workStore = (db: Connection) =>
  boundTo(db, {
    add: addWork,
    wake: wakeWork,
    isAnyDue,
    claim: claimWork,
    settle: settleWork,
    releaseOrphans,
  });

export type WorkStore = ReturnType<typeof workStore>;

/** Work of a kind in all processes, each count up to `COUNTED_MAX`. */
export interface WorkFigures {
  readonly due: number;
  readonly running: number;
  /** Not retried automatically. */
  readonly givenUp: number;
  /** Age of the oldest due item; 0: none. */
  readonly oldestDueSeconds: number;
}

/** An operator must react to this many, so that larger numbers do not matter. */
const COUNTED_MAX = 10_000;

/** @throws while the database is unavailable. */
export async function workFigures(pool: Pick<Pool, 'query'>, kind: string): Promise<WorkFigures> {
  const row = await fetchRow(
    pool,
    sql<WorkFigures>`
      select due.count::int as due, running.count::int as running, dead.count::int as "givenUp",
        coalesce(extract(epoch from now() - due.oldest), 0)::float8 as "oldestDueSeconds"
      from (select count(*) as count, min(due_at) as oldest from (
          select due_at from ledger.work_items
          where kind = ${kind} and ${IS_OPEN} and due_at <= now()
          order by due_at limit ${COUNTED_MAX}) as waiting) as due,
        (select count(*) as count from (
          select from ledger.work_items where kind = ${kind} and claimed_by is not null
          limit ${COUNTED_MAX}) as claimed) as running,
        (select count(*) as count from (
          select from ledger.work_items where kind = ${kind} and given_up_at is not null
          limit ${COUNTED_MAX}) as failed) as dead`,
  );
  return row ?? { due: 0, running: 0, givenUp: 0, oldestDueSeconds: 0 };
}
