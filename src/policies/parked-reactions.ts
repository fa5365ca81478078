import type { ClientBase, Pool } from 'pg';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { inTransaction } from '../postgres/transaction.js';

/** Parks every policy: the event is unreadable here, so its policies are unknown. */
export const ALL_POLICIES = '*';

/** From this event on the policy's reactions to its stream are parked. */
export interface ParkedReaction {
  readonly id: string;
  /** Its name, or `ALL_POLICIES`. */
  readonly policy: string;
  readonly eventId: string;
  readonly stream: string;
  /** Null: parked by the previous release, which did not record it. */
  readonly revision: bigint | null;
  readonly position: Position;
  readonly reason: string;
  readonly since: Date;
  readonly tries: number;
  /** Grows whenever policies pass over later events of the stream. */
  readonly passedOver: bigint;
}

/** Where and why the reactions of a policy stop. */
export interface ParkedAt {
  readonly policy: string;
  readonly event: Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position'>;
  readonly reason: string;
  readonly unknown?: UnknownEvent | undefined;
}

/** The unreadable event's type and version. The version is null if it could not be read. */
export interface UnknownEvent {
  readonly type: string;
  readonly version: number | null;
}

/** The outcome of a retry of one stream. */
export interface Settlement {
  /** By policy that is still parked, at another event or at the same one: its rows as read. */
  readonly stopped: readonly { readonly rows: readonly ParkedReaction[]; readonly to: ParkedAt }[];
  readonly added: readonly ParkedAt[];
  /** Deleted, unless events of their stream were passed over since they were read. */
  readonly done: readonly ParkedReaction[];
}

/** Number and age of parked reactions. */
export interface ParkedCounts {
  /** Reactions that failed. */
  readonly parked: number;
  /** Streams that wait for a release that can read them. */
  readonly heldBack: number;
  /** Age of the oldest one; 0: none. */
  readonly oldestSeconds: number;
}

/** The parked policies, by stream. */
export type ParkedStreams = Map<string, Set<string>>;

const REASON_LENGTH_MAX = 500;
/** Exponential back-off, limited so that the end of any cause is noticed well within 45 s. */
const NEXT_TRY = `now() + least(30, power(2, least(tries, 10))) * (0.5 + random() / 2) * interval '1 second'`;

const COLUMNS = `id::text as id, policy, event_id as "eventId", stream, revision, position, reason, parked_at as since, tries, passed_over as "passedOver"`;

/**
 * The parked reactions, recorded with all that a retry needs. A runner that passes over events of
 * such a stream marks its rows before its checkpoint moves, and a retry deletes only rows without a
 * newer mark, so that any number of processes may do both at once.
 */
export class ParkedReactions {
  constructor(private readonly pool: Pool) {}

  /** @throws when it cannot be recorded: its event must not be passed over then. */
  async park({ policy, event, reason, unknown }: ParkedAt): Promise<void> {
    await this.pool.query(INSERT, valuesOf({ policy, event, reason, unknown }));
  }

  async isEmpty(): Promise<boolean> {
    const { rows } = await this.pool.query('select from ledger.parked_reactions limit 1');
    return rows.length === 0;
  }

  /** All parked streams and policies. */
  async streams(): Promise<ParkedStreams> {
    const { rows } = await this.pool.query<{ stream: string; policy: string }>(
      'select stream, policy from ledger.parked_reactions',
    );
    return byStream(rows);
  }

  /**
   * Marks the rows of these streams, so that a retry does not treat the current events as done.
   * Returns those that are still parked.
   */
  async passOver(streams: readonly string[]): Promise<ParkedStreams> {
    return inTransaction(this.pool, async (client) => {
      // An update that waits for a settlement would not see the rows that the settlement adds.
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

  /** The streams to retry next; longest waiting first. */
  async dueStreams(limit: number): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ stream: string }>(
      'select stream from ledger.parked_reactions where next_try_at <= now() group by stream order by min(next_try_at) limit $1',
      [limit],
    );
    return rows.map(({ stream }) => stream);
  }

  /** The types and versions of events that wait for a release that can read them. */
  async unknownEvents(): Promise<readonly UnknownEvent[]> {
    const { rows } = await this.pool.query<UnknownEvent>(
      'select distinct event_type as type, schema_version as version from ledger.parked_reactions where event_type is not null limit 1000',
    );
    return rows;
  }

  /** Streams that wait for such events; longest waiting first. */
  async heldBackBy(events: readonly UnknownEvent[], limit: number): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ stream: string }>(
      `select stream from ledger.parked_reactions p join unnest($1::text[], $2::int[]) as known(type, version)
         on p.event_type = known.type and p.schema_version is not distinct from known.version
       group by stream order by min(p.id) limit $3`,
      [events.map(({ type }) => type), events.map(({ version }) => version), limit],
    );
    return rows.map(({ stream }) => stream);
  }

  /** A new leader's release may be able to do what the previous one could not: all are due now. */
  async tryAllSoon(): Promise<void> {
    await this.pool.query(
      'update ledger.parked_reactions set next_try_at = now() where next_try_at > now()',
    );
  }

  /** A retry that failed before it began: the next one is postponed. */
  async postpone(rows: readonly Pick<ParkedReaction, 'id'>[], reason: string): Promise<void> {
    await this.pool.query(
      `update ledger.parked_reactions set tries = tries + 1, next_try_at = ${NEXT_TRY}, reason = $2 where id = any($1::bigint[])`,
      [rows.map(({ id }) => id), reason.slice(0, REASON_LENGTH_MAX)],
    );
  }

  /** In one transaction. @returns whether all finished rows were deleted. */
  async settle(stream: string, { stopped, added, done }: Settlement): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      const { rows: present } = await client.query<Present>(LOCK, [stream]);
      for (const { rows, to } of stopped) await this.stop(client, present, rows, to);
      for (const parkedAt of added) await client.query(INSERT, valuesOf(parkedAt));
      const { rowCount } = await client.query(
        `delete from ledger.parked_reactions p using unnest($1::bigint[], $2::bigint[]) as seen(id, passed_over)
         where p.id = seen.id and p.passed_over = seen.passed_over`,
        [done.map(({ id }) => id), done.map(({ passedOver }) => passedOver)],
      );
      return rowCount === done.length;
    });
  }

  /**
   * Leaves one row of the policy at `to`. Rows that another process deleted meanwhile were finished
   * or merged there.
   */
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
    await client.query('delete from ledger.parked_reactions where id = any($1::bigint[])', [
      own.filter((row) => row !== kept).map(({ id }) => id),
    ]);
    if (kept) await client.query(MOVE, [...valuesOf(to), kept.id]);
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

  /** How many of these still exist. */
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

/** In the order in which `passOver` locks. */
const LOCK = `
  select id::text as id, policy, event_id as "eventId" from ledger.parked_reactions where stream = $1
  order by id for update`;

type Present = Pick<ParkedReaction, 'id' | 'policy' | 'eventId'>;

/** The mark of a row that exists grows: its policy passes over what follows once more. */
const INSERT = `
  insert into ledger.parked_reactions (event_id, policy, stream, revision, position, reason, event_type, schema_version, tries, next_try_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, 1, now() + interval '1 second')
  on conflict (event_id, policy) do update set revision = excluded.revision, reason = excluded.reason,
    passed_over = parked_reactions.passed_over + 1`;

/** The age counts from the event at which the reactions stopped. */
const MOVE = `
  update ledger.parked_reactions set event_id = $1, policy = $2, stream = $3, revision = $4, position = $5, reason = $6, event_type = $7,
    schema_version = $8, tries = case when event_id = $1 then tries + 1 else 1 end, next_try_at = ${NEXT_TRY},
    parked_at = case when event_id = $1 then parked_at else now() end
  where id = $9`;

const valuesOf = ({ policy, event, reason, unknown }: ParkedAt): unknown[] => [
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
): ParkedStreams {
  const parked: ParkedStreams = new Map();
  for (const { stream, policy } of rows)
    parked.set(stream, (parked.get(stream) ?? new Set()).add(policy));
  return parked;
}
