import type { PoolClient } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import { logPages } from '../../event-log/event-pages.js';
import { inTransactionOf } from '../../postgres/transaction.js';
import { schemaOf } from '../identifiers.js';
import { isDataError } from '../projecting-errors.js';
import type { Projector, Row } from '../projector.js';
import { checkLoaded, indexGeneration, placeOf, writeFold } from './bulk-load.js';
import {
  atOnePosition,
  Follower,
  Interrupted,
  knownTypesOf,
  type GenerationParts,
} from './catch-up.js';
import { UnstorableText } from './copy-rows.js';
import { countDifferences, withSnapshot } from './generation-diff.js';
import {
  changeState,
  dropGeneration,
  generationRecords,
  GenerationRefused,
  GenerationsOf,
  NothingToResume,
  parkedEvents,
  type GenerationRecord,
} from './generation-records.js';
import { createGeneration, nextGeneration, recordGeneration } from './generations.js';
import { foldLog, ProjectionFold } from './log-fold.js';
import { logParked } from '../log-parked.js';

/** The steps of a rebuild; tests end the process between them. */
export type RebuildStage = 'begun' | 'folded' | 'loaded' | 'indexed' | 'caught-up' | 'verified';

/** The current step of a rebuild, for display. */
export type RebuildProgress =
  | {
      readonly phase: 'folding';
      readonly events: number;
      readonly last: Position;
      readonly until: Position | undefined;
    }
  | {
      readonly phase: 'writing' | 'indexing' | 'verifying';
      readonly projection: string;
      readonly rows: number;
    }
  | { readonly phase: 'following'; readonly projection: string; readonly events: number };

export interface RebuildOptions {
  /** Aborted: the fold is written to its tables, and the rebuild ends with {Interrupted}. */
  readonly signal: AbortSignal;
  /** Continues an interrupted rebuild. Only correct with unchanged projectors. */
  readonly resume?: boolean;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Limit of rows in memory; later events are applied in batches, as live. Default two million. */
  readonly rowsMax?: number;
  readonly pageSize?: number;
  /** `folded` once for each pass over the log. */
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

const ROWS_MAX = 2_000_000;

/** A generation during its rebuild. */
interface Build {
  readonly projector: Projector;
  readonly live: GenerationRecord;
  readonly generation: number;
  readonly fold: ProjectionFold;
  /** Its rows are read back first. */
  readonly unfinished?: GenerationRecord;
}

/** Of the limit of rows: statistics lag. */
const FILLED = 0.85;

/**
 * Builds a new generation of each of these beside the live ones, up to their position, and leaves
 * them ready to become live. One pass over the log for all whose rows fit in memory together.
 * `client` holds the lock on generations. Earlier builds that did not become live are deleted.
 * @throws {GenerationRefused} {Interrupted} {StoppedAtUndecodable}; the live generations are
 * unchanged in any case.
 */
export async function rebuild(
  parts: GenerationParts,
  client: PoolClient,
  projectors: readonly Projector[],
  options: RebuildOptions,
): Promise<readonly BuiltGeneration[]> {
  const { signal, reached = () => Promise.resolve() } = options;
  const builds: Build[] = [];
  for (const projector of projectors)
    builds.push(await begin(parts, client, projector, options.resume ?? false));
  await reached('begun');
  const written: (Build & { readonly rows: number })[] = [];
  for (const pass of await passesOf(client, builds, options.rowsMax ?? ROWS_MAX)) {
    for (const { fold: begun, unfinished } of pass)
      if (unfinished !== undefined) await readBack(client, begun, unfinished);
    await fold(parts, pass, options);
    await reached('folded');
    for (const build of pass) {
      const rows = build.fold.rows.size;
      if (await write(client, build, options)) {
        written.push({ ...build, rows });
        const { generation, fold: folded } = build;
        const of = { projection: build.projector.name, generation };
        logParked(parts.logger, of, folded.parkedHere);
      }
      // Aborted in the middle of the log: the written rows are kept for `resume`; values that
      // Postgres refuses are dropped.
      else if (!signal.aborted) await createAnew(client, build);
      build.fold.rows.clear();
    }
  }
  if (signal.aborted) throw new Interrupted();
  await reached('loaded');
  for (const { projector, generation, rows } of written) {
    options.onProgress?.({ phase: 'indexing', projection: projector.name, rows });
    await indexGeneration(client, projector, generation);
  }
  await reached('indexed');
  const built: BuiltGeneration[] = [];
  for (const build of builds)
    built.push(await finish({ ...parts, client }, build, options, reached));
  return built;
}

async function begin(
  { log }: GenerationParts,
  client: PoolClient,
  projector: Projector,
  resume: boolean,
): Promise<Build> {
  const generations = await GenerationsOf.read(client, log, projector);
  const { live } = generations;
  const unfinished = resume ? generations.unfinished : undefined;
  if (resume && !unfinished) throw new NothingToResume(projector.name);
  for (const { generation } of generations.obsolete(unfinished, Date.now()))
    await inTransactionOf(client, () => dropGeneration(client, projector.name, generation));
  const fold = new ProjectionFold(projector, live.position);
  if (unfinished) return { projector, live, generation: unfinished.generation, fold, unfinished };
  const generation = await inTransactionOf(client, async () => {
    const next = await nextGeneration(client, projector.name);
    await recordGeneration(client, projector, next, 'building');
    return next;
  });
  return { projector, live, generation, fold };
}

/** Continues the rows of an interrupted rebuild. */
async function readBack(
  client: PoolClient,
  fold: ProjectionFold,
  { generation, position }: GenerationRecord,
): Promise<void> {
  const { projector, rows } = fold;
  for (const table of projector.tables) {
    const { rows: stored } = await client.query<{ row: Row }>(
      `select to_json(t) as "row" from ${placeOf(schemaOf(projector.name, generation), table)} t`,
    );
    for (const { row } of stored) rows.put(table.name, row);
  }
  if (position !== undefined)
    fold.resume(position, await parkedEvents(client, projector.name, generation));
}

/**
 * Those whose rows fit in memory together, by the statistics of the live ones, are folded in one
 * pass over the log: another pass takes less than what a fold leaves to be applied in batches.
 */
async function passesOf(
  client: PoolClient,
  builds: readonly Build[],
  rowsMax: number,
): Promise<readonly (readonly Build[])[]> {
  const liveSchema = ({ projector, live }: Build): string =>
    schemaOf(projector.name, live.generation);
  const { rows: estimated } = await client.query<{ schema: string; rows: number }>(
    `select n.nspname as schema, sum(greatest(c.reltuples, 0))::float8 as rows
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname = any ($1)
     group by n.nspname`,
    [builds.map(liveSchema)],
  );
  const rowsIn = new Map(estimated.map(({ schema, rows }) => [schema, rows]));
  const passes: { readonly builds: Build[]; rows: number }[] = [];
  for (const build of builds) {
    const rows = rowsIn.get(liveSchema(build)) ?? 0;
    const pass = passes.find((other) => other.rows + rows <= rowsMax * FILLED);
    if (pass === undefined) passes.push({ builds: [build], rows });
    else {
      pass.builds.push(build);
      pass.rows += rows;
    }
  }
  return passes.map(({ builds: together }) => together);
}

async function fold(
  parts: GenerationParts,
  builds: readonly Build[],
  options: RebuildOptions,
): Promise<void> {
  const { log, decode } = parts;
  const until = builds
    .map(({ live }) => live.position)
    .reduce((a, b) => (log.compare(a, b) >= 0 ? a : b), undefined);
  let events = 0;
  await foldLog({
    log,
    decode,
    folds: builds.map((build) => build.fold),
    knownTypes: knownTypesOf(parts),
    signal: options.signal,
    rowsMax: options.rowsMax ?? ROWS_MAX,
    ...(options.pageSize === undefined ? {} : { pageSize: options.pageSize }),
    onPage: (read, last) =>
      options.onProgress?.({ phase: 'folding', events: (events += read), last, until }),
  });
}

/**
 * False when Postgres refuses a value among the rows: whose it is, and what of it, batches find
 * out.
 */
async function write(
  client: PoolClient,
  { projector, generation, fold }: Build,
  { onProgress }: RebuildOptions,
): Promise<boolean> {
  onProgress?.({ phase: 'writing', projection: projector.name, rows: fold.rows.size });
  try {
    await writeFold(client, fold, generation);
  } catch (error) {
    if (isDataError(error) || error instanceof UnstorableText) return false;
    throw error;
  }
  await checkLoaded(client, fold, generation);
  return true;
}

/** Starts again, empty, with all indexes: `finish` then applies all events in batches. */
async function createAnew(client: PoolClient, { projector, generation }: Build): Promise<void> {
  await inTransactionOf(client, async () => {
    await dropGeneration(client, projector.name, generation);
    await createGeneration(client, projector, generation, 'building');
  });
}

async function finish(
  { client, ...parts }: GenerationParts & { readonly client: PoolClient },
  { projector, live, generation }: Build,
  { signal, onProgress }: RebuildOptions,
  reached: (stage: RebuildStage) => Promise<void>,
): Promise<BuiltGeneration> {
  const projection = projector.name;
  const record = (await generationRecords(client, [projection])).find(
    (candidate) => candidate.generation === generation,
  );
  if (!record) throw new GenerationRefused(`generation ${generation} of ${projection} is gone`);
  const follower = await Follower.open(parts, projector, record);
  let events = 0;
  const onPage = (applied: number): void =>
    onProgress?.({ phase: 'following', projection, events: (events += applied) });
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
    onProgress?.({ phase: 'verifying', projection, rows: 0 });
    const { rows, differences } = await countDifferences(snapshot.client, projector, {
      live: live.generation,
      built: generation,
    });
    await reached('verified');
    if (signal.aborted) throw new Interrupted();
    const parked = await parkedEvents(client, projection, generation);
    await changeState(client, record, ['building'], 'ready');
    const position = follower.track.position ?? null;
    return {
      projection,
      generation,
      liveGeneration: live.generation,
      position,
      rows,
      parked: parked.length,
      differences,
    };
  });
}

/**
 * Estimates a rebuild. @returns the number of events up to the position of the most advanced live
 * generation.
 */
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
