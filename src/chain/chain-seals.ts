import { sql, type Expression, type InferResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { epochMs, fetchRow, fetchRows, now, run, tables } from '../postgres/statements.js';
import { inTransaction } from '../postgres/transaction.js';
import { MARK_DIGITS, type ChainLink } from './chain-link.js';
import type { ChainSigner } from './chain-signer.js';
import { beginLogSeal, readLogSeal, writeLogSeal, type LogSeal } from './log-seal.js';

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
  /** When it moved last, epoch milliseconds; undefined: never. */
  readonly movedAt?: number | undefined;
}

/** The signed text of a seal. Its first line separates it from other texts that the key signs. */
export const sealText = (
  logId: string,
  { chain, events, position, digest, places }: Omit<ChainSeal, 'signature'>,
): string =>
  ['referral-ledger chain seal 1', logId, chain, events, position, digest, places, ''].join('\n');

const TABLE = 'ledger.chain_seals';
const SEALS = tables
  .selectFrom(TABLE)
  .select((eb) => [
    'chain',
    'events',
    'position',
    'digest',
    'places',
    'signature',
    sql<number>`cardinality(${eb.ref('event_ids')})`.as('count'),
  ]);

type SealRow = InferResult<typeof SEALS>[number];

const PAGE = 500;

export type SealStore = Pick<ChainSeals, keyof ChainSeals>;

export type SealStores = (logId: string) => SealStore;

export const sealsIn =
  (pool: Pool): SealStores =>
  (logId) =>
    new ChainSeals(pool, logId);

/** The seals of one log, in Postgres. Every method throws while the database is unavailable. */
export class ChainSeals {
  constructor(
    private readonly pool: Pool,
    readonly logId: string,
  ) {}

  async checkpoint(): Promise<ChainCheckpoint> {
    const row = await fetchRow(
      this.pool,
      tables
        .selectFrom('ledger.chain_checkpoints')
        .select((eb) => [
          'position',
          'events',
          'version',
          epochMs(eb.ref('updated_at')).as('movedAt'),
        ])
        .where('log_id', '=', this.logId),
    );
    return {
      position: row?.position ?? undefined,
      events: Number(row?.events ?? 0n),
      version: row?.version ?? 0n,
      movedAt: row?.movedAt,
    };
  }

  async newest(chains: readonly string[]): Promise<readonly StoredSeal[]> {
    const ofChain = SEALS.where('log_id', '=', this.logId)
      .where('chain', '=', sql<string>`wanted.name`)
      .orderBy('events', 'desc')
      .limit(1);
    const rows = await fetchRows(
      this.pool,
      sql<SealRow>`
        select seal.* from unnest(${chains}::text[]) as wanted (name)
        cross join lateral ${ofChain} as seal`,
    );
    return rows.map(asSeal);
  }

  async *all(chain: string): AsyncGenerator<StoredSeal, void, undefined> {
    for (let after = 0; ;) {
      const rows = await fetchRows(
        this.pool,
        SEALS.where((eb) => eb.and({ log_id: this.logId, chain }))
          .where('events', '>', BigInt(after))
          .orderBy('events')
          .limit(PAGE),
      );
      const seals = rows.map(asSeal);
      yield* seals;
      if (seals.length < PAGE) return;
      after = seals.at(-1)?.events ?? after;
    }
  }

  /** The marks of each event under the seal; empty when the seal is missing. */
  async eventsUnder({ chain, events }: ChainSeal): Promise<SealedEvents> {
    const row = await fetchRow(
      this.pool,
      tables
        .selectFrom(TABLE)
        .select((eb) => [idsOf(eb.ref('event_ids')).as('ids'), 'positions', 'marks'])
        .where((eb) => eb.and({ log_id: this.logId, chain }))
        .where('events', '=', BigInt(events)),
    );
    const { ids = [], positions = [], marks = Buffer.alloc(0) } = row ?? {};
    const digits = marks.toString('hex');
    return { ids, positions, marks: digits.match(new RegExp(`.{${MARK_DIGITS}}`, 'g')) ?? [] };
  }

  /** The event was sealed in this chain at some time. */
  async isSealed(chain: string, eventId: string): Promise<boolean> {
    const seal = await fetchRow(
      this.pool,
      tables
        .selectFrom(TABLE)
        .select('events')
        .where((eb) => eb.and({ log_id: this.logId, chain }))
        .where((eb) => sql<boolean>`${eventId}::uuid = any (${eb.ref('event_ids')})`)
        .limit(1),
    );
    return seal !== undefined;
  }

  /** An unacknowledged loss of the log's end exists. */
  async isLossOpen(): Promise<boolean> {
    const open = tables
      .selectFrom('ledger.log_losses')
      .select('id')
      .where('log_id', '=', this.logId)
      .where('acknowledged_at', 'is', null);
    return (await fetchRow(this.pool, open)) !== undefined;
  }

  /** The sealed events of all chains, grouped by moment, newest first. */
  async *eventsBackwards(): AsyncGenerator<readonly SeenEvent[], void, undefined> {
    for (let before: string | undefined; ;) {
      const sealed = await fetchRows(this.pool, this.newestBefore(before));
      const [first] = sealed;
      if (first === undefined) return;
      yield sealed.flatMap(({ ids, positions }) =>
        ids.flatMap((eventId, place) => [{ eventId, position: positions[place] ?? '' }]),
      );
      before = first.at;
    }
  }

  /** @param moment as text, which keeps its microseconds; undefined: now. */
  private newestBefore(moment: string | undefined) {
    const newest = tables
      .selectFrom(TABLE)
      .select((eb) => eb.fn.max('sealed_at').as('at'))
      .where('log_id', '=', this.logId)
      .$if(moment !== undefined, (all) =>
        all.where('sealed_at', '<', sql<Date>`${moment}::timestamptz`),
      );
    return tables
      .selectFrom(TABLE)
      .select((eb) => [
        eb.cast<string>('sealed_at', 'text').as('at'),
        idsOf(eb.ref('event_ids')).as('ids'),
        'positions',
      ])
      .where('log_id', '=', this.logId)
      .where('sealed_at', '=', newest);
  }

  /** Before the first event of the log: nothing is sealed yet. Idempotent. */
  begin(signer: ChainSigner): Promise<void> {
    return beginLogSeal(this.pool, this.logId, signer);
  }

  logSeal(): Promise<LogSeal | undefined> {
    return readLogSeal(this.pool, this.logId);
  }

  /** Adds seals and moves the checkpoint. False, and neither: it has moved since it was read. */
  add(
    before: ChainCheckpoint,
    after: LogSeal,
    seals: readonly (ChainSeal & SealedEvents)[],
  ): Promise<boolean> {
    return inTransaction(this.pool, async (client) => {
      const isMoved = await moveCheckpoint(client, this.logId, after, before.version);
      if (isMoved && seals.length > 0) await this.insert(client, seals);
      return isMoved;
    });
  }

  private async insert(
    client: PoolClient,
    seals: readonly (ChainSeal & SealedEvents)[],
  ): Promise<void> {
    const rows = seals.map(({ marks, ...seal }) => ({ ...seal, marks: marks.join('') }));
    // Raw SQL: one statement for any number of chains.
    await client.query(
      `insert into ledger.chain_seals (log_id, chain, events, position, digest, places, signature, event_ids, positions, marks)
       select $1, chain, events, position, decode(digest, 'hex'), decode(places, 'hex'), decode(signature, 'base64'), ids, positions, decode(marks, 'hex')
         from jsonb_to_recordset($2::jsonb) as seal
              (chain text, events bigint, position text, digest text, places text, signature text, ids uuid[], positions text[], marks text)`,
      [this.logId, JSON.stringify(rows)],
    );
  }
}

/** Moves the checkpoint, with the seal of the whole log. False: it has another version. */
export async function moveCheckpoint(
  client: PoolClient,
  logId: string,
  after: LogSeal,
  version?: bigint,
): Promise<boolean> {
  const { position, events } = after;
  await run(
    client,
    tables
      .insertInto('ledger.chain_checkpoints')
      .values({ log_id: logId })
      .onConflict((conflict) => conflict.doNothing()),
  );
  const moved = await run(
    client,
    tables
      .updateTable('ledger.chain_checkpoints')
      .set((eb) => ({ position, events, version: eb('version', '+', 1n), updated_at: now }))
      .where((eb) => eb.and({ log_id: logId, ...(version !== undefined && { version }) })),
  );
  if (moved === 1) await writeLogSeal(client, logId, after);
  return moved === 1;
}

const idsOf = (eventIds: Expression<readonly string[]>) =>
  sql<readonly string[]>`${eventIds}::text[]`;

const asSeal = ({ events, digest, places, signature, ...row }: SealRow): StoredSeal => ({
  ...row,
  events: Number(events),
  digest: digest.toString('hex'),
  places: places.toString('hex'),
  signature: signature.toString('base64'),
});
