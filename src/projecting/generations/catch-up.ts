import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { tryInTransactionOf } from '../../postgres/transaction.js';
import { countUnfinishedErasures, untilErasuresAreFinished } from '../following/erasure-pieces.js';
import { ProjectionTrack } from '../following/projection-track.js';
import { decodePage } from '../page.js';
import type { DecodeEvents, Projector } from '../projector.js';
import {
  generationRecords,
  GenerationRefused,
  type GenerationRecord,
} from './generation-records.js';
import { GenerationStore } from './generation-store.js';

/** What generations are built, switched and repaired with. */
export interface GenerationParts {
  /** Without a limit of time for its statements: some of them write whole tables. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly decode: DecodeEvents;
  /** All read models of this release. */
  readonly projectors: readonly Projector[];
  /** Has a line for each stream that is parked. */
  readonly logger?: Pick<Logger, 'error'>;
}

/** Every type that some projection handles. */
export const knownTypesOf = ({
  projectors,
}: Pick<GenerationParts, 'projectors'>): ReadonlySet<string> =>
  new Set(projectors.flatMap(({ handles }) => [...handles]));

const PAGE = 2_000;

/** A generation that no other process writes, catching up with the live one. */
export class Follower {
  private constructor(
    readonly track: ProjectionTrack,
    private readonly parts: GenerationParts,
  ) {}

  static async open(
    parts: GenerationParts,
    projector: Projector,
    record: GenerationRecord,
  ): Promise<Follower> {
    const track = new ProjectionTrack(projector, record.generation, {
      rows: new GenerationStore(parts.pool, projector, record.generation),
      log: parts.log,
      knownTypes: knownTypesOf(parts),
      logger: parts.logger,
    });
    await track.restoreFrom(record);
    return new Follower(track, parts);
  }

  /**
   * Applies events up to this one, as many as `eventsMax`. True when it is there. @throws what the
   * track throws.
   * @param onPage called after each page with how many events it was.
   */
  async follow(
    until: Position | undefined,
    {
      eventsMax = Infinity,
      signal,
      onPage,
    }: { eventsMax?: number; signal?: AbortSignal; onPage?: (events: number) => void } = {},
  ): Promise<boolean> {
    const { log, decode } = this.parts;
    for (let left = eventsMax; log.compare(this.track.position, until) < 0;) {
      if (left <= 0 || signal?.aborted) return false;
      const read = await log.readAll(this.track.position, Math.min(PAGE, left));
      const page = await decodePage(
        read.filter(({ position }) => log.compare(position, until) <= 0),
        decode,
      );
      if (!page) throw new Error('the log ends before the position of the live generation');
      await this.track.apply(page);
      onPage?.(page.events.length);
      left -= page.events.length;
    }
    return true;
  }

  /** Cleans whom the events forget out of all rows. */
  async cleanAll(signal?: AbortSignal): Promise<void> {
    while (this.track.isCleaning && !(signal?.aborted ?? false)) await this.track.cleanNextPiece();
  }
}

/** A generation and the live one that it is brought to. */
export interface Pairing {
  readonly projector: Projector;
  readonly live: GenerationRecord;
  readonly follower: Follower;
}

interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Called after each page with how many events it was. */
  readonly onPage?: (events: number) => void;
  /** Rows are compared, so unfinished erasures of the live generations are waited for. */
  readonly compares?: boolean;
}

/** Events that are applied while the live generation is held. */
const HELD_EVENTS_MAX = 200;
/**
 * After so many attempts the live generation is held for as long as it takes: events come faster
 * than they are applied.
 */
const PATIENT_ATTEMPTS = 20;

/**
 * Brings each generation to the position of its live one and does the work while none of
 * them moves, in one transaction on `client`, which holds the rows of the live checkpoints: their
 * writers wait meanwhile, their readers do not.
 * @returns what the work returns, and for how long they were held.
 */
export async function atOnePosition<T>(
  { log, client }: { readonly log: EventLog; readonly client: PoolClient },
  pairings: readonly Pairing[],
  work: () => Promise<T>,
  options: FollowOptions = {},
): Promise<{ readonly result: T; readonly heldMs: number }> {
  for (let attempt = 1; ; attempt++) {
    // One after the other for what is far behind; then all at once, so that next to nothing is left
    // for when they are held.
    for (const pairing of pairings) await approach(client, [pairing], options);
    await approach(client, pairings, options);
    const lives = pairings.map(({ live }) => live);
    if (options.compares) await untilErasuresAreFinished(client, lives, options);
    const since = performance.now();
    const eventsMax = attempt < PATIENT_ATTEMPTS ? HELD_EVENTS_MAX : Infinity;
    const done = await tryInTransactionOf(client, async () => {
      const held = await holdLive(client, lives);
      if (!(await areAt(held, pairings, eventsMax))) return undefined;
      if (options.compares && (await countUnfinishedErasures(client, lives)) > 0) return undefined;
      refuseWhatIsAhead(log, held, pairings);
      return { result: await work() };
    });
    if (done) return { result: done.result, heldMs: performance.now() - since };
  }
}

type Positions = ReadonlyMap<string, Position | undefined>;

/** Whether each is at the position of its live one, and clean, after so many events more. */
async function areAt(
  held: Positions,
  pairings: readonly Pairing[],
  eventsMax: number,
): Promise<boolean> {
  const reached = await Promise.all(
    pairings.map(({ follower, projector }) =>
      follower.follow(held.get(projector.name), { eventsMax }),
    ),
  );
  return (
    reached.every((there) => there) && !pairings.some(({ follower }) => follower.track.isCleaning)
  );
}

/** @throws {GenerationRefused} */
function refuseWhatIsAhead(log: EventLog, held: Positions, pairings: readonly Pairing[]): void {
  for (const { follower, projector } of pairings)
    if (log.compare(follower.track.position, held.get(projector.name)) !== 0)
      throw new GenerationRefused(
        `generation ${follower.track.generation} of ${projector.name} is ahead of the live one`,
      );
}

/** Brings each to where its live one is now, which may have gone on by then. */
async function approach(
  client: PoolClient,
  pairings: readonly Pairing[],
  options: FollowOptions,
): Promise<void> {
  const positions = await livePositions(client, pairings);
  await Promise.all(
    pairings.map(async ({ follower, projector }) => {
      while (
        !(await follower.follow(positions.get(projector.name), {
          eventsMax: HELD_EVENTS_MAX * 50,
          ...options,
        }))
      )
        if (options.signal?.aborted) throw new Interrupted();
      await follower.cleanAll(options.signal);
    }),
  );
  if (options.signal?.aborted) throw new Interrupted();
}

/** The operator, or the loss of the lock, put an end to it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(message = 'stopped') {
    super(message);
  }
}

async function livePositions(
  client: PoolClient,
  pairings: readonly Pairing[],
): Promise<ReadonlyMap<string, Position | undefined>> {
  const records = await generationRecords(
    client,
    pairings.map(({ projector }) => projector.name),
  );
  return new Map(
    records
      .filter(({ projection, generation }) =>
        pairings.some(
          ({ live }) => live.projection === projection && live.generation === generation,
        ),
      )
      .map(({ projection, position }) => [projection, position]),
  );
}

/**
 * Locks the checkpoints of live generations for the rest of the transaction, in the order of their
 * names, as every writer of several does.
 * @returns their positions. @throws {GenerationRefused} when another one became live meanwhile.
 */
export async function holdLive(
  client: PoolClient,
  lives: readonly Pick<GenerationRecord, 'projection' | 'generation'>[],
): Promise<ReadonlyMap<string, Position | undefined>> {
  const { rows } = await client.query<{ projection: string; position: string | null }>(
    `select c.projection, c.position
     from unnest($1::text[], $2::integer[]) as l (projection, generation)
     join ledger.projection_checkpoints c on c.projection = l.projection and c.generation = l.generation
     join ledger.projection_generations g on g.projection = l.projection and g.generation = l.generation and g.state in ('live', 'beside')
     order by c.projection, c.generation for update of c`,
    [lives.map(({ projection }) => projection), lives.map(({ generation }) => generation)],
  );
  const held = new Map(rows.map(({ projection, position }) => [projection, position ?? undefined]));
  for (const { projection } of lives)
    if (!held.has(projection))
      throw new GenerationRefused(`another generation of ${projection} became live meanwhile`);
  return held;
}
