import type { PoolClient } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import { logPages } from '../../event-log/event-pages.js';
import { inTransactionOf } from '../../postgres/transaction.js';
import { parkedStreams } from '../checkpoints.js';
import { schemaOf } from '../identifiers.js';
import { decodePage, type Page } from '../page.js';
import type { Projector } from '../projector.js';
import { atOnePosition, Follower, Interrupted, type GenerationParts } from './catch-up.js';
import { countDifferences, withSnapshot } from './generation-diff.js';
import {
  dropGeneration,
  generationRecords,
  GenerationRefused,
  GenerationsOf,
  markReady,
  type GenerationRecord,
} from './generation-records.js';
import { completeTables, createGeneration, nextGeneration, placeOf } from './generations.js';

/** The steps of a rebuild; tests end the process between them. */
export type RebuildStage = 'begun' | 'followed' | 'caught-up' | 'verified';

/** The current step of a rebuild, for display. */
export type RebuildProgress =
  | {
      readonly phase: 'reading';
      readonly events: number;
      readonly last: Position;
      readonly until: Position | undefined;
    }
  | { readonly phase: 'following'; readonly projection: string; readonly events: number }
  | { readonly phase: 'verifying'; readonly projection: string };

export interface RebuildOptions {
  /** Aborted: ends with {Interrupted}. The next rebuild starts again. */
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: RebuildProgress) => void;
  readonly pageSize?: number;
  readonly reached?: (stage: RebuildStage) => Promise<void>;
}

export interface BuiltGeneration {
  readonly projection: string;
  readonly generation: number;
  readonly liveGeneration: number;
  readonly position: Position | null;
  readonly rows: number;
  readonly parked: number;
  /** Number of rows that differ from the live one, at this position. */
  readonly differences: number;
}

/** A generation during its rebuild. */
interface Build {
  readonly projector: Projector;
  readonly live: GenerationRecord;
  readonly record: GenerationRecord;
  readonly follower: Follower;
}

/** Rows that several events of a page change are written once. */
const PAGE = 1_250;

/**
 * Builds a new generation of each projection next to the live one, up to its position, and leaves
 * it ready to become live. Reads and decodes the log once for all. `client` holds the lock on
 * generations. Deletes earlier builds that did not become live.
 * @throws {GenerationRefused} {Interrupted} {StoppedAtUndecodable} with the live generations
 * unchanged.
 */
export async function rebuild(
  parts: GenerationParts,
  client: PoolClient,
  projectors: readonly Projector[],
  options: RebuildOptions,
): Promise<readonly BuiltGeneration[]> {
  const { reached = () => Promise.resolve() } = options;
  const builds: Build[] = [];
  for (const projector of projectors) builds.push(await begin(parts, client, projector));
  await reached('begun');
  await followAll(parts, builds, options);
  await reached('followed');
  const built: BuiltGeneration[] = [];
  for (const build of builds)
    built.push(await finish({ ...parts, client }, build, options, reached));
  return built;
}

async function begin(
  parts: GenerationParts,
  client: PoolClient,
  projector: Projector,
): Promise<Build> {
  const generations = await GenerationsOf.read(client, parts.log, projector);
  const { live } = generations;
  for (const { generation } of generations.obsolete(Date.now()))
    await inTransactionOf(client, () => dropGeneration(client, projector.name, generation));
  const record = await made(client, projector);
  return { projector, live, record, follower: await Follower.open(parts, projector, record) };
}

async function made(client: PoolClient, projector: Projector): Promise<GenerationRecord> {
  const generation = await inTransactionOf(client, async () => {
    const next = await nextGeneration(client, projector.name);
    await createGeneration(client, projector, next, 'building');
    return next;
  });
  const record = (await generationRecords(client, [projector.name])).find(
    (candidate) => candidate.generation === generation,
  );
  if (!record) throw new GenerationRefused(`generation ${generation} of ${projector.name} is gone`);
  return record;
}

/** Up to the present position of the live generation that lags most. */
async function followAll(
  { log, decode }: GenerationParts,
  builds: readonly Build[],
  { signal, onProgress, pageSize = PAGE }: RebuildOptions,
): Promise<void> {
  const least = (positions: readonly (Position | undefined)[]): Position | undefined =>
    positions.reduce((a, b) => (log.compare(a, b) <= 0 ? a : b));
  const after = least(builds.map(({ follower }) => follower.track.position));
  const until = least(builds.map(({ live }) => live.position));
  const apply = async (page: Page): Promise<void> => {
    const applied = builds.map(({ follower }) => follower.track.apply(page));
    // None of them writes any more when one has failed.
    await Promise.allSettled(applied);
    await Promise.all(applied);
  };
  let events = 0;
  // Two pages are read and decoded here while Postgres writes one.
  let before = Promise.resolve();
  let applying = before;
  try {
    for await (const read of logPages(log, { after, upTo: until, limit: pageSize })) {
      const page = await decodePage(read, decode);
      await before;
      if (signal.aborted) throw new Interrupted();
      if (!page) continue;
      onProgress?.({ phase: 'reading', events: (events += read.length), last: page.last, until });
      before = applying;
      applying = before.then(() => apply(page));
      // Thrown by an `await`.
      applying.catch(() => undefined);
    }
  } finally {
    await Promise.allSettled([applying]);
  }
  await applying;
}

async function finish(
  { client, ...parts }: GenerationParts & { readonly client: PoolClient },
  { projector, live, record, follower }: Build,
  { signal, onProgress }: RebuildOptions,
  reached: (stage: RebuildStage) => Promise<void>,
): Promise<BuiltGeneration> {
  const projection = projector.name;
  const { generation } = record;
  if (!(await completeTables(client, projector, generation)))
    throw new GenerationRefused(
      `Postgres crashed and emptied the new tables of ${projection}: rebuild it again`,
    );
  for (const table of projector.tables)
    await client.query(`analyze ${placeOf(schemaOf(projection, generation), table)}`);
  let events = 0;
  const onPage = (applied: number): void =>
    onProgress?.({ phase: 'following', projection, events: (events += applied) });
  onPage(0);
  return withSnapshot(parts.pool, async (snapshot) => {
    const { log } = parts;
    const options = { signal, onPage, compares: true };
    await atOnePosition(
      { log, client },
      [{ projector, live, follower }],
      () => snapshot.take(),
      options,
    );
    await reached('caught-up');
    onProgress?.({ phase: 'verifying', projection });
    const { rows, differences } = await countDifferences(snapshot.client, projector, {
      live: live.generation,
      built: generation,
    });
    await reached('verified');
    if (signal.aborted) throw new Interrupted();
    const parked = await parkedStreams(client, projection, generation);
    await markReady(client, record);
    return {
      projection,
      generation,
      liveGeneration: live.generation,
      position: follower.track.position ?? null,
      rows,
      parked: parked.length,
      differences,
    };
  });
}

/** Estimates a rebuild. @returns the number of events up to the most advanced live position. */
export async function countEvents(
  { log }: Pick<GenerationParts, 'log'>,
  until: Position | undefined,
  options: {
    readonly signal: AbortSignal;
    readonly onPage?: (events: number, last: Position) => void;
  },
): Promise<number> {
  let events = 0;
  for await (const page of logPages(log, { upTo: until, limit: 2_000 })) {
    events += page.length;
    const last = page.at(-1)?.position;
    if (last === undefined || log.compare(last, until) >= 0) break;
    if (options.signal.aborted) throw new Interrupted();
    options.onPage?.(events, last);
  }
  return events;
}
