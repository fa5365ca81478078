import { sql } from 'kysely';
import type { ClientBase, Pool } from 'pg';
import { anyOf, fetchRow, fetchRows, now, run, tables } from '../postgres/statements.js';
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
const NEXT_TRY = sql<Date>`now() + least(30, power(2, least(tries, 10))) * (0.5 + random() / 2) * interval '1 second'`;

const TABLE = 'ledger.parked_reactions';
/** As long as jobs are repeated after a loss of the log's end. */
const FORGOTTEN = sql<Date>`now() - interval '7 days'`;
const STREAMS = ['stream', 'policy'] as const;
/** Without announcements, which wait one by one. */
const OF_POLICIES = tables.selectFrom(TABLE).where('policy', '<>', WEBHOOKS_HANDLER);
const REACTIONS = tables
  .selectFrom(TABLE)
  .select((eb) => [
    eb.cast<string>('id', 'text').as('id'),
    'policy',
    'event_id as eventId',
    'stream',
    'revision',
    'position',
    'reason',
    'parked_at as since',
    'tries',
    'passed_over as passedOver',
  ]);

/**
 * Parked reactions, with all that a retry needs: the rows of `ledger.parked_reactions`. A runner
 * that passes over events of such a stream marks its rows before its checkpoint moves, and a retry
 * deletes only rows without a newer mark, so that any number of processes may do both concurrently.
 */
export class PostgresParkedReactions {
  constructor(private readonly pool: Pool) {}

  /** @throws when it cannot be recorded: its event must not be passed over then. */
  async park({ policy, event, reason, unknown }: ParkedAt): Promise<void> {
    await run(this.pool, parking({ policy, event, reason, unknown }));
  }

  async isEmpty(): Promise<boolean> {
    const first = OF_POLICIES.select('id').limit(1);
    return (await fetchRow(this.pool, first)) === undefined;
  }

  async streams(): Promise<ParkedStreams> {
    return byStream(await fetchRows(this.pool, OF_POLICIES.select(STREAMS)));
  }

  /** Keeps retries from treating current events as done. Returns those still parked. */
  async keepParked(streams: readonly string[]): Promise<ParkedStreams> {
    return inTransaction(this.pool, async (client) => {
      // An update that waits for a settlement would not see the rows that the settlement adds.
      await fetchRows(
        client,
        tables
          .selectFrom(TABLE)
          .select('id')
          .where('stream', '=', anyOf(streams))
          .orderBy('id')
          .forUpdate(),
      );
      return byStream(
        await fetchRows(
          client,
          tables
            .updateTable(TABLE)
            .set((eb) => ({ passed_over: eb('passed_over', '+', 1n) }))
            .where('stream', '=', anyOf(streams))
            .returning(STREAMS),
        ),
      );
    });
  }

  ofStream(stream: string): Promise<readonly ParkedReaction[]> {
    return fetchRows(
      this.pool,
      REACTIONS.where('stream', '=', stream)
        .where('policy', '<>', WEBHOOKS_HANDLER)
        .orderBy('revision')
        .orderBy(`${TABLE}.id`),
    );
  }

  /** The streams to retry next; longest waiting first. */
  async dueStreams(limit: number): Promise<readonly string[]> {
    const rows = await fetchRows(
      this.pool,
      OF_POLICIES.select('stream')
        .where('next_try_at', '<=', now)
        .groupBy('stream')
        .orderBy((eb) => eb.fn.min('next_try_at'))
        .limit(limit),
    );
    return rows.map(({ stream }) => stream);
  }

  /** Types and versions of events that wait for a release that can read them. */
  unknownEvents(): Promise<readonly UnknownEvent[]> {
    return fetchRows(
      this.pool,
      tables
        .selectFrom(TABLE)
        .select(['event_type as type', 'schema_version as version'])
        .distinct()
        .where('event_type', 'is not', null)
        .$narrowType<{ type: string }>()
        .limit(1_000),
    );
  }

  /** Streams that wait for such events; longest waiting first. Raw SQL: it has two lists. */
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
      tables.updateTable(TABLE).set({ next_try_at: now }).where('next_try_at', '>', now),
    );
  }

  /** Postpones the next retry after one that failed before it began. */
  async postpone(rows: readonly Pick<ParkedReaction, 'id'>[], reason: string): Promise<void> {
    await run(
      this.pool,
      tables
        .updateTable(TABLE)
        .set((eb) => ({
          tries: eb('tries', '+', 1),
          next_try_at: NEXT_TRY,
          reason: reason.slice(0, REASON_LENGTH_MAX),
        }))
        .where('id', '=', anyOf(idsOf(rows))),
    );
  }

  /** In one transaction. @returns whether all finished rows were deleted. */
  async settle(stream: string, { stopped, added, done }: Settlement): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      const present = await fetchRows(client, lockOf(stream));
      for (const { rows, to } of stopped) await this.stop(client, present, rows, to);
      for (const parkedAt of added) await run(client, parking(parkedAt));
      // Raw SQL: the builder has no `unnest` of two lists.
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
    await run(client, tables.deleteFrom(TABLE).where('id', '=', anyOf(others)));
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
    return fetchRows(
      this.pool,
      REACTIONS.where(`${TABLE}.id`, '>', BigInt(after))
        .$if(id !== undefined, (only) => only.where(`${TABLE}.id`, '=', BigInt(id ?? 0)))
        .orderBy(`${TABLE}.id`)
        .limit(limit),
    );
  }

  /** Ends it without carrying it out. */
  async drop({ id }: Pick<ParkedReaction, 'id'>): Promise<void> {
    await run(this.pool, tables.deleteFrom(TABLE).where('id', '=', BigInt(id)));
  }

  /** Keeps it from being repeated, also after a loss of the log's end. */
  async forgetRetried({ eventId, policy }: Pick<ParkedReaction, 'eventId' | 'policy'>) {
    await run(
      this.pool,
      tables
        .deleteFrom('ledger.retried_reactions')
        .where((eb) => eb.and({ event_id: eventId, policy })),
    );
  }

  /** How many of these still exist. */
  async present(ids: readonly string[]): Promise<number> {
    const row = await fetchRow(
      this.pool,
      tables
        .selectFrom(TABLE)
        .select((eb) => eb.fn.countAll<bigint>().as('present'))
        .where('id', '=', anyOf(ids.map(BigInt))),
    );
    return Number(row?.present ?? 0n);
  }

  async counts(): Promise<ParkedCounts> {
    const row = await fetchRow(
      this.pool,
      OF_POLICIES.select((eb) => [
        eb.fn.countAll<bigint>().filterWhere('policy', '<>', ALL_POLICIES).as('parked'),
        eb.fn
          .count<bigint>('stream')
          .distinct()
          .filterWhere('policy', '=', ALL_POLICIES)
          .as('heldBack'),
        sql<number | null>`extract(epoch from now() - min(${eb.ref('parked_at')}))::float8`.as(
          'oldestSeconds',
        ),
        sql<string | null>`(array_agg(reason order by parked_at desc, id desc))[1]`.as('because'),
      ]),
    );
    return {
      parked: Number(row?.parked ?? 0n),
      heldBack: Number(row?.heldBack ?? 0n),
      oldestSeconds: Math.max(0, Math.floor(row?.oldestSeconds ?? 0)),
      parkedBecause: row?.because ?? null,
    };
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
    tables
      .selectFrom('ledger.retried_reactions')
      .select(['event_id as eventId', 'policy', 'stream', 'revision', 'position']),
  );
  for (const { eventId, policy, stream, revision, position } of retried)
    if (await holds({ position, eventId }))
      await run(
        client,
        tables
          .insertInto(TABLE)
          .values({ event_id: eventId, policy, stream, revision, position, reason: AGAIN })
          .onConflict((conflict) => conflict.columns(['event_id', 'policy']).doNothing()),
      );
  await run(client, tables.deleteFrom('ledger.retried_reactions'));
}

const AGAIN = 'the log lost its end: carried out again';

/** In the order in which `keepParked` locks. */
const lockOf = (stream: string) =>
  tables
    .selectFrom(TABLE)
    .select((eb) => [eb.cast<string>('id', 'text').as('id'), 'policy', 'event_id as eventId'])
    .where('stream', '=', stream)
    .orderBy(`${TABLE}.id`)
    .forUpdate();

type Present = Pick<ParkedReaction, 'id' | 'policy' | 'eventId'>;

/** Increases the mark of an existing row: its policy passes over further events. */
export const parking = (parkedAt: ParkedAt) =>
  tables
    .insertInto(TABLE)
    .values({
      ...rowOf(parkedAt),
      tries: 1,
      next_try_at: sql<Date>`now() + interval '1 second'`,
    })
    .onConflict((conflict) =>
      conflict.columns(['event_id', 'policy']).doUpdateSet((eb) => ({
        revision: eb.ref('excluded.revision'),
        reason: eb.ref('excluded.reason'),
        passed_over: eb(`${TABLE}.passed_over`, '+', 1n),
      })),
    );

/** The age counts from the event at which the reactions stopped. */
const move = (id: string, to: ParkedAt) =>
  tables
    .updateTable(TABLE)
    .set((eb) => {
      const isSame = eb('event_id', '=', to.event.id);
      return {
        ...rowOf(to),
        tries: eb
          .case()
          .when(isSame)
          .then(eb('tries', '+', 1))
          .else(1)
          .end(),
        next_try_at: NEXT_TRY,
        parked_at: eb.case().when(isSame).then(eb.ref('parked_at')).else(now).end(),
      };
    })
    .where('id', '=', BigInt(id));

const rowOf = ({ policy, event, reason, unknown }: ParkedAt) => ({
  event_id: event.id,
  policy,
  stream: event.stream,
  revision: event.revision,
  position: event.position,
  reason: reason.slice(0, REASON_LENGTH_MAX),
  event_type: unknown?.type.slice(0, REASON_LENGTH_MAX) ?? null,
  schema_version: unknown?.version ?? null,
});

function byStream(
  rows: readonly { readonly stream: string; readonly policy: string }[],
): ParkedStreams {
  const parked: ParkedStreams = new Map();
  for (const { stream, policy } of rows)
    parked.set(stream, (parked.get(stream) ?? new Set()).add(policy));
  return parked;
}
