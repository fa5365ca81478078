import type { Pool, PoolClient } from 'pg';
import type { EventLog, Position } from '../../event-log/event-log.js';
import type { Logger } from '../../foundation/logger.js';
import { tryInTransactionOf } from '../../postgres/transaction.js';
import { countUnfinishedErasures, untilErasuresAreFinished } from '../following/erasure-pieces.js';
import { ProjectionTrack } from '../following/projection-track.js';
import { decodePage } from '../page.js';
import type { DecodeEvents, Projector } from '../projector.js';
import { GenerationRefused, type GenerationRecord } from './generation-records.js';
import { GenerationStore } from './generation-store.js';
import { FOLLOWED_STATES } from './generations.js';

export interface GenerationParts {
  /** Without a statement timeout: some statements write whole tables. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly decode: DecodeEvents;
  /** All read models of this release. */
  readonly projectors: readonly Projector[];
  /** One line per parked stream. */
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
   * Applies events up to this one, as many as `eventsMax`. True when it is reached.
   * @throws the track's errors.
   * @param onPage called after each page with its number of events.
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

  /** Cleans all unfinished erasures. */
  async cleanAll(signal?: AbortSignal): Promise<void> {
    while (this.track.isCleaning && !(signal?.aborted ?? false)) await this.track.cleanNextPiece();
  }
}

/** A generation and the live one whose position it must reach. */
export interface GenerationPair {
  readonly projector: Projector;
  readonly live: GenerationRecord;
  readonly follower: Follower;
}

interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Called after each page with its number of events. */
  readonly onPage?: (events: number) => void;
  /** Waits for unfinished erasures of the live generations, since rows are compared. */
  readonly compares?: boolean;
}

/** Events that are applied while the live generation is held. */
const HELD_EVENTS_MAX = 200;
/** Then the live generation is held without limit: events come too fast. */
const LIMITED_ATTEMPTS = 20;

/**
 * Brings each generation to the position of its live one and does the work while none of them
 * moves, in one transaction on `client` that locks the live checkpoints: writers wait meanwhile,
 * readers do not.
 * @returns the work's result, and how long they were locked.
 */
export async function atOnePosition<T>(
  { log, client }: { readonly log: EventLog; readonly client: PoolClient },
  pairings: readonly GenerationPair[],
  work: () => Promise<T>,
  options: FollowOptions = {},
): Promise<{ readonly result: T; readonly heldMs: number }> {
  for (let attempt = 1; ; attempt++) {
    // First one after the other, then all concurrently, so that next to nothing is left for the
    // time of the locks.
    for (const pairing of pairings) await catchUp(client, [pairing], options);
    await catchUp(client, pairings, options);
    const lives = pairings.map(({ live }) => live);
    if (options.compares) await untilErasuresAreFinished(client, lives, options);
    const since = performance.now();
    const eventsMax = attempt < LIMITED_ATTEMPTS ? HELD_EVENTS_MAX : Infinity;
    const done = await tryInTransactionOf(client, async () => {
      const held = await holdLive(client, lives);
      if (!(await haveReached(held, pairings, eventsMax))) return undefined;
      if (options.compares && (await countUnfinishedErasures(client, lives)) > 0) return undefined;
      refuseAheadOfLive(log, held, pairings);
      return { result: await work() };
    });
    if (done) return { result: done.result, heldMs: performance.now() - since };
  }
}

type Positions = ReadonlyMap<string, Position | undefined>;

/** Whether each is clean and at the position of its live one after this many more events. */
async function haveReached(
  held: Positions,
  pairings: readonly GenerationPair[],
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
function refuseAheadOfLive(
  log: EventLog,
  held: Positions,
  pairings: readonly GenerationPair[],
): void {
  for (const { follower, projector } of pairings)
    if (log.compare(follower.track.position, held.get(projector.name)) !== 0)
      throw new GenerationRefused(
        `generation ${follower.track.generation} of ${projector.name} is ahead of the live one`,
      );
}

/** Brings each to the present position of its live one, which may then have moved. */
async function catchUp(
  client: PoolClient,
  pairings: readonly GenerationPair[],
  options: FollowOptions,
): Promise<void> {
  const positions = await livePositions(
    client,
    pairings.map(({ live }) => live),
    'unlocked',
  );
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

/** The operator or the loss of the lock ended it. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  constructor(message = 'stopped') {
    super(message);
  }
}

type LiveGeneration = Pick<GenerationRecord, 'projection' | 'generation'>;

/**
 * Locks the checkpoints of live generations for the rest of the transaction, in the order of their
 * names, as every writer of several does.
 * @returns their positions.
 * @throws {GenerationRefused} when another one became live meanwhile.
 */
export const holdLive = (
  client: PoolClient,
  lives: readonly LiveGeneration[],
): Promise<Positions> => livePositions(client, lives, 'locked');

async function livePositions(
  client: PoolClient,
  lives: readonly LiveGeneration[],
  how: 'locked' | 'unlocked',
): Promise<Positions> {
  const { rows } = await client.query<{ projection: string; position: string | null }>(
    `select c.projection, c.position
     from unnest($1::text[], $2::integer[]) as l (projection, generation)
     join ledger.projection_checkpoints c on c.projection = l.projection and c.generation = l.generation
     join ledger.projection_generations g on g.projection = l.projection and g.generation = l.generation and g.state = any ($3::text[])
     order by c.projection, c.generation ${how === 'locked' ? 'for update of c' : ''}`,
    [
      lives.map(({ projection }) => projection),
      lives.map(({ generation }) => generation),
      FOLLOWED_STATES,
    ],
  );
  const positions = new Map(
    rows.map(({ projection, position }) => [projection, position ?? undefined]),
  );
  for (const { projection } of lives)
    if (!positions.has(projection))
      throw new GenerationRefused(`another generation of ${projection} became live meanwhile`);
  return positions;
}
