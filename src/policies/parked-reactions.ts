import type { Pool } from 'pg';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { inTransaction } from '../postgres/transaction.js';

/**
 * Stands for every policy: the event cannot be read here, so nobody knows whose reactions it sets
 * off.
 */
export const ALL_POLICIES = '*';

/** From this event on the reactions of a policy to its stream stand still. */
export interface ParkedReaction {
  readonly id: string;
  /** Its name, or `ALL_POLICIES`. */
  readonly policy: string;
  readonly eventId: string;
  readonly stream: string;
  /** Null: parked by the release before, which did not note it. */
  readonly revision: bigint | null;
  readonly position: Position;
  readonly reason: string;
  readonly since: Date;
  readonly tries: number;
  /** Grows whenever policies pass over later events of the stream. */
  readonly passedOver: bigint;
}

/** Where and why the reactions of a policy stop. */
export interface Standstill {
  readonly policy: string;
  readonly event: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;
  readonly reason: string;
  readonly unknown?: UnknownEvent | undefined;
}

/** What a release would have to know. The version is null where it could not be read. */
export interface UnknownEvent {
  readonly type: string;
  readonly version: number | null;
}

/** What a try came to, by row. */
export interface Settlement {
  /** They stand still at another event, or at the same one again. */
  readonly moved: readonly { readonly row: ParkedReaction; readonly to: Standstill }[];
  readonly added: readonly Standstill[];
  /** They go if nobody has passed over events of their stream since they were read. */
  readonly done: readonly ParkedReaction[];
  /** They go in any case: another row of the same policy and stream says the same. */
  readonly covered: readonly ParkedReaction[];
}

/** How much stands still. */
export interface ParkedCounts {
  /** Reactions that failed. */
  readonly parked: number;
  /** Streams that wait for a release that can read them. */
  readonly heldBack: number;
  /** How long the oldest of both stands still; 0: nothing does. */
  readonly oldestSeconds: number;
}

/** The policies that stand still, by stream. */
export type StandingStreams = Map<string, Set<string>>;

const REASON_LENGTH_MAX = 500;
/** A doubling wait, so that whatever the cause was, its end is noticed well within 45 s. */
const NEXT_TRY = `now() + least(30, power(2, least(tries, 10))) * (0.5 + random() / 2) * interval '1 second'`;

const COLUMNS = `id::text as id, policy, event_id as "eventId", stream, revision, position, reason, parked_at as since, tries, passed_over as "passedOver"`;

/**
 * The reactions that stand still: on record, with all that is needed to carry them out. Whoever
 * passes over events of such a stream marks its rows before its checkpoint moves, and whoever has
 * taken a stream up removes only rows without a newer mark, so that any number of processes may do
 * both at once.
 */
export class ParkedReactions {
  constructor(private readonly pool: Pool) {}

  /** @throws when it cannot be put on record: what it says must not be passed over then. */
  async park({ policy, event, reason, unknown }: Standstill): Promise<void> {
    await this.pool.query(INSERT, valuesOf({ policy, event, reason, unknown }));
  }

  async isEmpty(): Promise<boolean> {
    const { rows } = await this.pool.query('select from ledger.parked_reactions limit 1');
    return rows.length === 0;
  }

  /** All that stand still. */
  async standing(): Promise<StandingStreams> {
    const { rows } = await this.pool.query<{ stream: string; policy: string }>(
      'select stream, policy from ledger.parked_reactions',
    );
    return byStream(rows);
  }

  /**
   * Marks the rows of these streams, so that nobody takes the events at hand for done. Returns
   * those that still stand.
   */
  async passOver(streams: readonly string[]): Promise<StandingStreams> {
    return inTransaction(this.pool, async (client) => {
      // A statement that waits for a settlement does not see the rows that this one has added.
      await client.query(
        'select from ledger.parked_reactions where stream = any($1) order by id for update',
        [streams],
      );
      const { rows } = await client.query<{ stream: string; policy: string }>(
        'update ledger.parked_reactions set passed_over = passed_over + 1 where stream = any($1) returning stream, policy',
        [streams],
      );
      return byStream(rows);
    });
  }

  async ofStream(stream: string): Promise<readonly ParkedReaction[]> {
    const { rows } = await this.pool.query<ParkedReaction>(
      `select ${COLUMNS} from ledger.parked_reactions where stream = $1 order by revision nulls first, id`,
      [stream],
    );
    return rows;
  }

  /** The next ones that are to be tried, by stream; those that wait longest first. */
  async dueStreams(limit: number): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ stream: string }>(
      'select stream from ledger.parked_reactions where next_try_at <= now() group by stream order by min(next_try_at) limit $1',
      [limit],
    );
    return rows.map(({ stream }) => stream);
  }

  /** What events are waiting to be known. */
  async unknownEvents(): Promise<readonly UnknownEvent[]> {
    const { rows } = await this.pool.query<UnknownEvent>(
      'select distinct event_type as type, schema_version as version from ledger.parked_reactions where event_type is not null limit 1000',
    );
    return rows;
  }

  /** Streams that are held back by such events; those that wait longest first. */
  async heldBackBy(events: readonly UnknownEvent[], limit: number): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ stream: string }>(
      `select stream from ledger.parked_reactions p join unnest($1::text[], $2::int[]) as known(type, version)
         on p.event_type = known.type and p.schema_version is not distinct from known.version
       group by stream order by min(p.id) limit $3`,
      [events.map(({ type }) => type), events.map(({ version }) => version), limit],
    );
    return rows.map(({ stream }) => stream);
  }

  /**
   * A process that begins to lead may be of a release that can do what the one before could not.
   */
  async tryAllSoon(): Promise<void> {
    await this.pool.query(
      'update ledger.parked_reactions set next_try_at = now() where next_try_at > now()',
    );
  }

  /** A try that came to nothing before it began: the next one comes later. */
  async postpone(rows: readonly Pick<ParkedReaction, 'id'>[], reason: string): Promise<void> {
    await this.pool.query(
      `update ledger.parked_reactions set tries = tries + 1, next_try_at = ${NEXT_TRY}, reason = $2 where id = any($1::bigint[])`,
      [rows.map(({ id }) => id), reason.slice(0, REASON_LENGTH_MAX)],
    );
  }

  /** In one transaction. @returns whether all that is done could go. */
  async settle({ moved, added, done, covered }: Settlement): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      await client.query('delete from ledger.parked_reactions where id = any($1::bigint[])', [
        covered.map(({ id }) => id),
      ]);
      for (const { row, to } of moved) await client.query(MOVE, [...valuesOf(to), row.id]);
      for (const standstill of added) await client.query(INSERT, valuesOf(standstill));
      const { rowCount } = await client.query(
        `delete from ledger.parked_reactions p using unnest($1::bigint[], $2::bigint[]) as seen(id, passed_over)
         where p.id = seen.id and p.passed_over = seen.passed_over`,
        [done.map(({ id }) => id), done.map(({ passedOver }) => passedOver)],
      );
      return rowCount === done.length;
    });
  }

  /** Oldest first. */
  async list({
    id,
    after = '0',
    limit,
  }: {
    readonly id?: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly ParkedReaction[]> {
    const { rows } = await this.pool.query<ParkedReaction>(
      `select ${COLUMNS} from ledger.parked_reactions where id > $1 and ($2::bigint is null or id = $2) order by ledger.parked_reactions.id limit $3`,
      [after, id ?? null, limit],
    );
    return rows;
  }

  /** How many of these are still there. */
  async present(ids: readonly string[]): Promise<number> {
    const { rows } = await this.pool.query<{ present: bigint }>(
      'select count(*) as present from ledger.parked_reactions where id = any($1::bigint[])',
      [ids],
    );
    return Number(rows[0]?.present ?? 0n);
  }

  async counts(): Promise<ParkedCounts> {
    const { rows } = await this.pool.query<{
      parked: bigint;
      heldBack: bigint;
      oldestSeconds: number | null;
    }>(
      `select count(*) filter (where policy <> $1) as parked, count(distinct stream) filter (where policy = $1) as "heldBack",
         extract(epoch from now() - min(parked_at))::float8 as "oldestSeconds"
       from ledger.parked_reactions`,
      [ALL_POLICIES],
    );
    const [row] = rows;
    return {
      parked: Number(row?.parked ?? 0n),
      heldBack: Number(row?.heldBack ?? 0n),
      oldestSeconds: Math.max(0, Math.floor(row?.oldestSeconds ?? 0)),
    };
  }
}

const INSERT = `
  insert into ledger.parked_reactions (event_id, policy, stream, revision, position, reason, event_type, schema_version, tries, next_try_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, 1, now() + interval '1 second')
  on conflict (event_id, policy) do update set revision = excluded.revision, reason = excluded.reason`;

/** Since when it stands still counts from the event where it does. */
const MOVE = `
  update ledger.parked_reactions set event_id = $1, policy = $2, stream = $3, revision = $4, position = $5, reason = $6, event_type = $7,
    schema_version = $8, tries = case when event_id = $1 then tries + 1 else 1 end, next_try_at = ${NEXT_TRY},
    parked_at = case when event_id = $1 then parked_at else now() end
  where id = $9`;

const valuesOf = ({ policy, event, reason, unknown }: Standstill): unknown[] => [
  event.id,
  policy,
  event.stream,
  event.revision,
  event.position,
  reason.slice(0, REASON_LENGTH_MAX),
  unknown?.type.slice(0, REASON_LENGTH_MAX) ?? null,
  unknown?.version ?? null,
];

function byStream(
  rows: readonly { readonly stream: string; readonly policy: string }[],
): StandingStreams {
  const standing: StandingStreams = new Map();
  for (const { stream, policy } of rows)
    standing.set(stream, (standing.get(stream) ?? new Set()).add(policy));
  return standing;
}
