import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { inTransaction } from '../postgres/transaction.js';
import { MARK_DIGITS, type ChainLink } from './chain-link.js';
import { readLogSeal, writeLogSeal, type LogSeal } from './log-seal.js';

/** A signed link of a chain. */
export interface ChainSeal extends ChainLink {
  readonly chain: string;
  readonly position: Position;
  /** In base64. */
  readonly signature: string;
}

/** The events of a chain since the previous seal, in order. */
export interface SealedEvents {
  readonly ids: readonly string[];
  readonly positions: readonly Position[];
  readonly marks: readonly string[];
}

/** A seal, as read for verification. */
export interface StoredSeal extends ChainSeal {
  /** Number of events since the previous seal. */
  readonly count: number;
}

export interface ChainCheckpoint {
  /** The last sealed event of the whole log; undefined: none. */
  readonly position: Position | undefined;
  /** Number of sealed events of the whole log. */
  readonly events: number;
  readonly version: bigint;
}

/** The signed text of a seal. Its first line separates it from other texts that the key signs. */
export const sealText = (
  logId: string,
  { chain, events, position, digest, places }: Omit<ChainSeal, 'signature'>,
): string =>
  ['referral-ledger chain seal 1', logId, chain, events, position, digest, places, ''].join('\n');

interface SealRow {
  readonly chain: string;
  readonly events: bigint;
  readonly position: string;
  readonly digest: string;
  readonly places: string;
  readonly signature: string;
  readonly count: number;
}

/** The seals of one moment, as Postgres stores them. */
interface SealedAt {
  readonly at: string;
  readonly ids: readonly string[];
  readonly positions: readonly string[];
}

const SEAL_COLUMNS = `chain, events, position, encode(digest, 'hex') as digest, encode(places, 'hex') as places,
  encode(signature, 'base64') as signature, cardinality(event_ids) as count`;

const PAGE = 500;

/** The seals of one log, in Postgres. Every method throws while the database is unavailable. */
export class ChainSeals {
  constructor(
    private readonly pool: Pool,
    readonly logId: string,
  ) {}

  async checkpoint(): Promise<ChainCheckpoint> {
    const { rows } = await this.pool.query<{
      position: string | null;
      events: bigint;
      version: bigint;
    }>('select position, events, version from ledger.chain_checkpoints where log_id = $1', [
      this.logId,
    ]);
    const [row] = rows;
    return {
      position: row?.position ?? undefined,
      events: Number(row?.events ?? 0n),
      version: row?.version ?? 0n,
    };
  }

  /** The newest seal of each of these chains, where there is one. */
  async newest(chains: readonly string[]): Promise<readonly StoredSeal[]> {
    const { rows } = await this.pool.query<SealRow>(
      `select seal.* from unnest($2::text[]) as wanted (name) cross join lateral (
         select ${SEAL_COLUMNS} from ledger.chain_seals where log_id = $1 and chain = wanted.name order by events desc limit 1
       ) as seal`,
      [this.logId, chains],
    );
    return rows.map(asSeal);
  }

  /** All seals of a chain, from the first on. */
  async *all(chain: string): AsyncGenerator<StoredSeal, void, undefined> {
    for (let after = 0; ;) {
      const { rows } = await this.pool.query<SealRow>(
        `select ${SEAL_COLUMNS} from ledger.chain_seals where log_id = $1 and chain = $2 and events > $3 order by events limit $4`,
        [this.logId, chain, after, PAGE],
      );
      const seals = rows.map(asSeal);
      yield* seals;
      if (seals.length < PAGE) return;
      after = seals.at(-1)?.events ?? after;
    }
  }

  /** The marks of each event under the seal; empty when the seal is missing. */
  async eventsUnder({ chain, events }: ChainSeal): Promise<SealedEvents> {
    const { rows } = await this.pool.query<{ ids: string[]; positions: string[]; marks: string }>(
      `select event_ids::text[] as ids, positions, encode(marks, 'hex') as marks
         from ledger.chain_seals where log_id = $1 and chain = $2 and events = $3`,
      [this.logId, chain, events],
    );
    const { ids = [], positions = [], marks = '' } = rows[0] ?? {};
    return { ids, positions, marks: marks.match(new RegExp(`.{${MARK_DIGITS}}`, 'g')) ?? [] };
  }

  /** Whether the event was ever sealed in this chain. */
  async isSealed(chain: string, eventId: string): Promise<boolean> {
    const { rows } = await this.pool.query<{ sealed: boolean }>(
      'select exists (select from ledger.chain_seals where log_id = $1 and chain = $2 and $3::uuid = any (event_ids)) as sealed',
      [this.logId, chain, eventId],
    );
    return rows[0]?.sealed ?? false;
  }

  /** Whether there is an unacknowledged loss of the log's end. */
  async isLossOpen(): Promise<boolean> {
    const { rows } = await this.pool.query(
      'select from ledger.log_losses where log_id = $1 and acknowledged_at is null',
      [this.logId],
    );
    return rows.length > 0;
  }

  /** The sealed events of all chains, grouped by moment, newest first. */
  async *eventsBackwards(): AsyncGenerator<readonly SeenEvent[], void, undefined> {
    let before: string | null = null;
    for (;;) {
      const sealed: readonly SealedAt[] = await this.newestBefore(before);
      const [first] = sealed;
      if (first === undefined) return;
      yield sealed.flatMap(({ ids, positions }) =>
        ids.flatMap((eventId, place) => [{ eventId, position: positions[place] ?? '' }]),
      );
      before = first.at;
    }
  }

  private async newestBefore(moment: string | null): Promise<readonly SealedAt[]> {
    const { rows } = await this.pool.query<SealedAt>(
      `select sealed_at::text as at, event_ids::text[] as ids, positions from ledger.chain_seals
        where log_id = $1 and sealed_at = (
          select max(sealed_at) from ledger.chain_seals where log_id = $1 and ($2::timestamptz is null or sealed_at < $2))`,
      [this.logId, moment],
    );
    return rows;
  }

  logSeal(): Promise<LogSeal | undefined> {
    return readLogSeal(this.pool, this.logId);
  }

  /**
   * Adds seals and moves the checkpoint, both or neither. False: the checkpoint has moved since it
   * was read.
   */
  add(
    before: ChainCheckpoint,
    after: LogSeal,
    seals: readonly (ChainSeal & SealedEvents)[],
  ): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      const { position, events } = after;
      const isMoved = await this.moveCheckpoint(client, before, {
        position: position ?? undefined,
        events,
      });
      if (isMoved) await writeLogSeal(client, this.logId, after);
      if (isMoved && seals.length > 0) await this.insert(client, seals);
      return isMoved;
    });
  }

  private async moveCheckpoint(
    client: PoolClient,
    { version }: ChainCheckpoint,
    { position, events }: Pick<ChainCheckpoint, 'position' | 'events'>,
  ): Promise<boolean> {
    await client.query(
      'insert into ledger.chain_checkpoints (log_id) values ($1) on conflict do nothing',
      [this.logId],
    );
    const { rowCount } = await client.query(
      `update ledger.chain_checkpoints set position = $3, events = $4, version = version + 1, updated_at = now()
        where log_id = $1 and version = $2`,
      [this.logId, version, position, events],
    );
    return rowCount === 1;
  }

  private async insert(
    client: PoolClient,
    seals: readonly (ChainSeal & SealedEvents)[],
  ): Promise<void> {
    const rows = seals.map(({ marks, ...seal }) => ({ ...seal, marks: marks.join('') }));
    // One statement for any number of chains.
    await client.query(
      `insert into ledger.chain_seals (log_id, chain, events, position, digest, places, signature, event_ids, positions, marks)
       select $1, chain, events, position, decode(digest, 'hex'), decode(places, 'hex'), decode(signature, 'base64'), ids, positions, decode(marks, 'hex')
         from jsonb_to_recordset($2::jsonb) as seal
              (chain text, events bigint, position text, digest text, places text, signature text, ids uuid[], positions text[], marks text)`,
      [this.logId, JSON.stringify(rows)],
    );
  }
}

const asSeal = ({ events, signature, ...row }: SealRow): StoredSeal => ({
  ...row,
  events: Number(events),
  // Postgres breaks base64 into lines.
  signature: signature.replaceAll('\n', ''),
});
