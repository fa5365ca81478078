import { sql } from 'kysely';
import type { ClientBase, Pool } from 'pg';
import { fetchRow, fetchRows, run } from '../postgres/statements.js';
import { inTransaction } from '../postgres/transaction.js';
import {
  ALL_POLICIES,
  WEBHOOKS_HANDLER,
  type ParkedAt,
  type ParkedCounts,
  type ParkedReaction,
  type ParkedStreams,
  type Settlement,
  type UnknownEvent,
} from './parked-reactions.js';

const REASON_LENGTH_MAX = 500;
/** Exponential back-off; its limit notices the end of any cause well within 45 s. */
const NEXT_TRY = sql`now() + least(30, power(2, least(tries, 10))) * (0.5 + random() / 2) * interval '1 second'`;

/** As long as jobs are repeated after a loss of the log's end. */
const FORGOTTEN = sql`now() - interval '7 days'`;
/** Announcements wait one by one. */
const IS_OF_POLICY = sql`policy <> ${WEBHOOKS_HANDLER}`;
const REACTIONS = sql`
  select id::text as id, policy, event_id as "eventId", stream, revision, position, reason,
    parked_at as since, tries, passed_over as "passedOver"
  from ledger.parked_reactions`;

/**
 * Parked reactions, with all that a retry needs: the rows of `ledger.parked_reactions`. A runner
 * that passes over events of such a stream marks its rows before its checkpoint moves, and a retry
 * deletes only rows without a newer mark, so that any number of processes may do both concurrently.
 */
export class PostgresParkedReactions {
  constructor(private readonly pool: Pool) {}

  /** @throws when it cannot be recorded: its event must not be passed over then. */
  async park(parkedAt: ParkedAt): Promise<void> {
    await run(this.pool, parking(parkedAt));
  }

  async isEmpty(): Promise<boolean> {
    const first = sql`select from ledger.parked_reactions where ${IS_OF_POLICY} limit 1`;
    return (await fetchRow(this.pool, first)) === undefined;
  }

  async streams(): Promise<ParkedStreams> {
    return byStream(
      await fetchRows(
        this.pool,
        sql<ParkedPolicy>`select stream, policy from ledger.parked_reactions where ${IS_OF_POLICY}`,
      ),
    );
  }

  /** Keeps retries from treating current events as done. Returns those still parked. */
  async keepParked(streams: readonly string[]): Promise<ParkedStreams> {
    return inTransaction(this.pool, async (client) => {
      // An update that waits for a settlement would not see the rows that the settlement adds.
      await run(
        client,
        sql`
          select from ledger.parked_reactions where stream = any(${streams}) order by id for update`,
      );
      return byStream(
        await fetchRows(
          client,
          sql<ParkedPolicy>`
            update ledger.parked_reactions set passed_over = passed_over + 1
            where stream = any(${streams}) returning stream, policy`,
        ),
      );
    });
  }

  ofStream(stream: string): Promise<readonly ParkedReaction[]> {
    return fetchRows(
      this.pool,
      sql<ParkedReaction>`
        ${REACTIONS} where stream = ${stream} and ${IS_OF_POLICY}
        order by revision, parked_reactions.id`,
    );
  }

  /** The streams to retry next; longest waiting first. */
  async dueStreams(limit: number): Promise<readonly string[]> {
    const rows = await fetchRows(
      this.pool,
      sql<{ stream: string }>`
        select stream from ledger.parked_reactions where ${IS_OF_POLICY} and next_try_at <= now()
        group by stream order by min(next_try_at) limit ${limit}`,
    );
    return rows.map(({ stream }) => stream);
  }

  /** Types and versions of events that wait for a release that can read them. */
  unknownEvents(): Promise<readonly UnknownEvent[]> {
    return fetchRows(
      this.pool,
      sql<UnknownEvent>`
        select distinct event_type as type, schema_version as version
        from ledger.parked_reactions where event_type is not null limit 1000`,
    );
  }

  /** Streams that wait for such events; longest waiting first. */
  async heldBackBy(events: readonly UnknownEvent[], limit: number): Promise<readonly string[]> {
    const types = events.map(({ type }) => type);
    const versions = events.map(({ version }) => version);
    const rows = await fetchRows(
      this.pool,
      sql<{ stream: string }>`
        select stream from ledger.parked_reactions p
        join unnest(${types}::text[], ${versions}::int[]) as known(type, version)
          on p.event_type = known.type and p.schema_version is not distinct from known.version
        group by stream order by min(p.id) limit ${limit}`,
    );
    return rows.map(({ stream }) => stream);
  }

  /** Makes all due: a new leader's release may succeed where the previous one failed. */
  async tryAllSoon(): Promise<void> {
    await run(
      this.pool,
      sql`update ledger.parked_reactions set next_try_at = now() where next_try_at > now()`,
    );
  }

  /** Postpones the next retry after one that failed before it began. */
  async postpone(rows: readonly Pick<ParkedReaction, 'id'>[], reason: string): Promise<void> {
    await run(
      this.pool,
      sql`
        update ledger.parked_reactions
        set tries = tries + 1, next_try_at = ${NEXT_TRY}, reason = ${cut(reason)}
        where id = any(${idsOf(rows)}::bigint[])`,
    );
  }

  /** In one transaction. @returns whether all finished rows were deleted. */
  async settle(stream: string, { stopped, added, done }: Settlement): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      // In the order in which `keepParked` locks.
      const present = await fetchRows(
        client,
        sql<Present>`
          select id::text as id, policy, event_id as "eventId" from ledger.parked_reactions
          where stream = ${stream} order by parked_reactions.id for update`,
      );
      for (const { rows, to } of stopped) await this.stop(client, present, rows, to);
      for (const parkedAt of added) await run(client, parking(parkedAt));
      const deleted = await run(
        client,
        sql`
          with finished as (
            delete from ledger.parked_reactions p
            using unnest(${idsOf(done)}::bigint[], ${done.map(({ passedOver }) => passedOver)}::bigint[])
              as seen(id, passed_over)
            where p.id = seen.id and p.passed_over = seen.passed_over
            returning p.event_id, p.policy, p.stream, p.revision, p.position
          ), remembered as (
            insert into ledger.retried_reactions (event_id, policy, stream, revision, position)
            select * from finished
            on conflict (event_id, policy) do update set retried_at = now()
          )
          select from finished`,
      );
      await run(client, sql`delete from ledger.retried_reactions where retried_at < ${FORGOTTEN}`);
      return deleted === done.length;
    });
  }

  /** Leaves one row of the policy at `to`. Missing rows were finished or merged elsewhere. */
  private async stop(
    client: ClientBase,
    present: readonly Present[],
    rows: readonly ParkedReaction[],
    to: ParkedAt,
  ): Promise<void> {
    const ids = new Set(rows.map(({ id }) => id));
    const own = present.filter(({ id }) => ids.has(id));
    const kept =
      present.find(({ policy, eventId }) => policy === to.policy && eventId === to.event.id) ??
      own[0];
    await run(
      client,
      sql`
        insert into ledger.retried_reactions (event_id, policy, stream, revision, position)
        select event_id, policy, stream, revision, position from ledger.parked_reactions
        where id = any(${idsOf(own)}::bigint[]) and event_id <> ${to.event.id}
        on conflict (event_id, policy) do update set retried_at = now()`,
    );
    const others = idsOf(own.filter((row) => row !== kept));
    await run(client, sql`delete from ledger.parked_reactions where id = any(${others}::bigint[])`);
    if (kept) await run(client, move(kept.id, to));
  }

  /** Oldest first. */
  list({
    id,
    after = '0',
    limit,
  }: {
    readonly id?: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ParkedReaction[]> {
    const isWanted = id === undefined ? sql`true` : sql`parked_reactions.id = ${BigInt(id)}`;
    return fetchRows(
      this.pool,
      sql<ParkedReaction>`
        ${REACTIONS} where parked_reactions.id > ${BigInt(after)} and ${isWanted}
        order by parked_reactions.id limit ${limit}`,
    );
  }

  /** Ends it without carrying it out. */
  async drop({ id }: Pick<ParkedReaction, 'id'>): Promise<void> {
    await run(this.pool, sql`delete from ledger.parked_reactions where id = ${BigInt(id)}`);
  }

  /** Keeps it from being repeated, also after a loss of the log's end. */
  async forgetRetried({ eventId, policy }: Pick<ParkedReaction, 'eventId' | 'policy'>) {
    await run(
      this.pool,
      sql`
        delete from ledger.retried_reactions where event_id = ${eventId} and policy = ${policy}`,
    );
  }

  /** How many of these still exist. */
  async present(ids: readonly string[]): Promise<number> {
    return run(
      this.pool,
      sql`select from ledger.parked_reactions where id = any(${ids.map(BigInt)}::bigint[])`,
    );
  }

  async counts(): Promise<ParkedCounts> {
    const row = await fetchRow(
      this.pool,
      sql<ParkedCounts>`
        select count(*) filter (where policy <> ${ALL_POLICIES})::integer as parked,
          count(distinct stream) filter (where policy = ${ALL_POLICIES})::integer as "heldBack",
          greatest(0, floor(coalesce(extract(epoch from now() - min(parked_at)), 0)))::float8
            as "oldestSeconds",
          (array_agg(reason order by parked_at desc, id desc))[1] as "parkedBecause"
        from ledger.parked_reactions where ${IS_OF_POLICY}`,
    );
    return row ?? { parked: 0, heldBack: 0, oldestSeconds: 0, parkedBecause: null };
  }
}

export type ParkedReactions = Pick<
  PostgresParkedReactions,
  | 'park'
  | 'isEmpty'
  | 'streams'
  | 'keepParked'
  | 'ofStream'
  | 'dueStreams'
  | 'unknownEvents'
  | 'heldBackBy'
  | 'tryAllSoon'
  | 'postpone'
  | 'settle'
  | 'counts'
>;

const idsOf = (rows: readonly Pick<ParkedReaction, 'id'>[]): bigint[] =>
  rows.map(({ id }) => BigInt(id));

/**
 * Parks again what retries carried out within the last days: the log lost its end, and perhaps
 * their effects. Only events that it still has. A repeated reaction changes nothing.
 * @param holds whether the log has the event.
 */
export async function parkRetriedAgain(
  client: ClientBase,
  holds: (event: { readonly position: string; readonly eventId: string }) => Promise<boolean>,
): Promise<void> {
  const retried = await fetchRows(
    client,
    sql<Pick<ParkedReaction, 'eventId' | 'policy' | 'stream' | 'revision' | 'position'>>`
      delete from ledger.retried_reactions
      returning position, event_id as "eventId", policy, stream, revision`,
  );
  for (const { eventId, policy, stream, revision, position } of retried)
    if (await holds({ position, eventId }))
      await run(
        client,
        sql`
          insert into ledger.parked_reactions (event_id, policy, stream, revision, position, reason)
          values (${eventId}, ${policy}, ${stream}, ${revision}, ${position}, ${AGAIN})
          on conflict (event_id, policy) do nothing`,
      );
}

const AGAIN = 'the log lost its end: carried out again';

type Present = Pick<ParkedReaction, 'id' | 'policy' | 'eventId'>;

const cut = (reason: string): string => reason.slice(0, REASON_LENGTH_MAX);

/** Where the reactions stop, as columns and as their values. */
const PLACE = sql`
  event_id, policy, stream, revision, position, reason, event_type, schema_version`;
const placeOf = ({ policy, event, reason, unknown }: ParkedAt) => sql`
  ${event.id}::uuid, ${policy}::text, ${event.stream}::text, ${event.revision}::bigint,
  ${event.position}::text, ${cut(reason)}::text,
  ${unknown === undefined ? null : cut(unknown.type)}::text, ${unknown?.version ?? null}::integer`;

/** Increases the mark of an existing row: its policy passes over further events. */
export const parking = (parkedAt: ParkedAt) => sql`
  insert into ledger.parked_reactions as parked (${PLACE}, tries, next_try_at)
  values (${placeOf(parkedAt)}, 1, now() + interval '1 second')
  on conflict (event_id, policy) do update
  set revision = excluded.revision, reason = excluded.reason,
    passed_over = parked.passed_over + 1`;

/** The age counts from the event at which the reactions stopped. */
const move = (id: string, to: ParkedAt) => sql`
  update ledger.parked_reactions
  set (${PLACE}) = row(${placeOf(to)}), next_try_at = ${NEXT_TRY},
    tries = case when event_id = ${to.event.id} then tries + 1 else 1 end,
    parked_at = case when event_id = ${to.event.id} then parked_at else now() end
  where id = ${BigInt(id)}`;

interface ParkedPolicy {
  readonly stream: string;
  readonly policy: string;
}

function byStream(rows: readonly ParkedPolicy[]): ParkedStreams {
  const parked: ParkedStreams = new Map();
  for (const { stream, policy } of rows)
    parked.set(stream, (parked.get(stream) ?? new Set()).add(policy));
  return parked;
}
