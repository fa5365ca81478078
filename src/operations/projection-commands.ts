import type { Pool, PoolClient } from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import type { Core } from '../core.js';
import { MODES, type Mode } from '../domain/scope.js';
import { openPool } from '../postgres/database.js';
import { withGenerationsLock } from '../postgres/generations-lock.js';
import { scopeOfStream } from '../privacy/keyed-names.js';
import { atOnePosition, Follower, Interrupted, type GenerationParts } from '../projecting/catch-up.js';
import { decodeForProjectors } from '../projecting/decode-events.js';
import { countDifferences, listDifferences, withSnapshot } from '../projecting/generation-diff.js';
import { generationRecords, GenerationRefused, GenerationsOf } from '../projecting/generation-records.js';
import { ensureLiveGenerations } from '../projecting/generations.js';
import { describeError } from '../projecting/projecting-errors.js';
import {
  projectionHistory,
  recordBegun,
  recordEnd,
  type OperationEnd,
  type ProjectionAction,
  type ProjectionHistoryEntry,
  type ProjectionOperation,
} from '../projecting/projection-history.js';
import { projectionStatus } from '../projecting/projection-status.js';
import type { Projector } from '../projecting/projector.js';
import { countEvents, rebuild, type RebuildOptions } from '../projecting/rebuild.js';
import { repair, type RepairScope } from '../projecting/repair.js';
import { rollBack, swap } from '../projecting/switch-generations.js';
import { CommandError } from './command-line.js';
import { shownDifference, type ShownDifference } from './shown-difference.js';

/** The operations on read models: each returns the document that `--json` prints. All throw {CommandError} or another error of one line. */
export interface ProjectionOperator {
  readonly parts: GenerationParts;
  readonly names: Pick<Core['names'], 'accountRef' | 'accountStream'>;
  readonly tenants: Pick<Core['tenants'], 'find'>;
  /** Who does it, for the history. */
  readonly actor: string;
  readonly signal: AbortSignal;
}

/** Some statements write or compare whole tables: they have no limit of time. */
const CONNECTIONS = 10;

/** @param projectors other ones than the service's, for tests. */
export async function withProjections<T>(
  core: Pick<Core, 'databaseUrl' | 'log' | 'codec' | 'names' | 'tenants'>,
  { actor, signal, projectors = accountProjectors }: { actor: string; signal: AbortSignal; projectors?: readonly Projector[] },
  work: (operator: ProjectionOperator) => Promise<T>,
): Promise<T> {
  const { databaseUrl, log, codec, names, tenants } = core;
  // Positions are read below by who the log is: a log that is away says so here, and a database that follows another one, too.
  await log.id();
  const pool = openPool({ url: databaseUrl, max: CONNECTIONS, applicationName: 'ledger-projection' });
  try {
    await ensureLiveGenerations(pool, projectors);
    return await work({ parts: { pool, log, decode: decodeForProjectors(codec), projectors }, names, tenants, actor, signal });
  } finally {
    await pool.end();
  }
}

/** One projection by its name, or all of them. */
export function chosenProjectors(
  { projectors }: Pick<GenerationParts, 'projectors'>,
  name: string | undefined,
  all = false,
): readonly Projector[] {
  if ((name === undefined) !== all) throw new CommandError('name one projection, or say --all');
  if (name === undefined) return projectors;
  const projector = projectors.find((candidate) => candidate.name === name);
  if (!projector)
    throw new CommandError(
      `there is no projection ${JSON.stringify(name.slice(0, 80))}; there are ${projectors.map((each) => each.name).join(', ')}`,
    );
  return [projector];
}

export interface ShownProjection {
  readonly name: string;
  readonly generation: number;
  readonly position: string | null;
  readonly head: string | null;
  /** Up to 1000; that number means: as many or more. */
  readonly lagEvents: number;
  readonly lagSeconds: number;
  /** Streams that are parked. */
  readonly parked: number;
  readonly lastError: string | null;
  /** The generation that was built and waits to be swapped in. */
  readonly ready: number | null;
  /** The generation that `rollback` goes back to. */
  readonly previous: number | null;
}

export async function showStatus({ parts }: ProjectionOperator): Promise<readonly ShownProjection[]> {
  const { pool, log, projectors } = parts;
  const names = projectors.map(({ name }) => name);
  const rows = await projectionStatus(pool, log, names, Date.now());
  const shown: ShownProjection[] = [];
  for (const projector of projectors) {
    const row = rows.find(({ projection }) => projection === projector.name);
    if (!row) continue;
    const { generation, position, head, lagEvents, lagSeconds, parkedStreams: parked, lastError } = row;
    const generations = await GenerationsOf.read(pool, log, projector);
    const others = { ready: generations.ready?.generation ?? null, previous: generations.previous?.generation ?? null };
    shown.push({ name: projector.name, generation, position, head, lagEvents, lagSeconds, parked, lastError, ...others });
  }
  return shown;
}

/** What `rebuild --dry-run` says; nothing is changed. */
export async function planRebuild({ parts, signal }: ProjectionOperator, projectors: readonly Projector[]): Promise<object> {
  const { pool, log } = parts;
  const records = await generationRecords(
    pool,
    projectors.map(({ name }) => name),
  );
  const live = records.filter(({ state }) => state === 'live');
  const until = live.map(({ position }) => position).reduce((a, b) => (log.compare(a, b) >= 0 ? a : b), undefined);
  const events = await countEvents(parts, until, { signal });
  return {
    dryRun: true,
    events,
    projections: projectors.map(({ name }) => {
      const generations = records.filter(({ projection }) => projection === name);
      const current = generations.find(({ state }) => state === 'live');
      return {
        ...{ projection: name, generation: Math.max(0, ...generations.map(({ generation }) => generation)) + 1 },
        ...{ liveGeneration: current?.generation ?? null, position: current?.position ?? null },
      };
    }),
  };
}

/** Builds new generations; switches nothing. */
export async function rebuildProjections(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  options: Omit<RebuildOptions, 'signal'> = {},
): Promise<object> {
  return recorded(operator, 'rebuild', projectors, {}, async (client, signal) => {
    const startedAt = performance.now();
    let events = 0;
    const built = await rebuild(operator.parts, client, projectors, {
      ...options,
      signal,
      onProgress: (progress) => {
        if (progress.phase === 'folding') ({ events } = progress);
        options.onProgress?.(progress);
      },
    });
    const seconds = Math.round(performance.now() - startedAt) / 1_000;
    const end = ({ generation, liveGeneration, position, rows, parked, differences }: (typeof built)[number]): OperationEnd => ({
      ...{ outcome: 'done', generation, previous: liveGeneration, details: { position, rows, parked, differences } },
    });
    return { document: { events, seconds, projections: built }, ends: new Map(built.map((each) => [each.projection, end(each)])) };
  });
}

/** Where a repair is to be done, as the operator names it. @throws {CommandError} for a tenant that there is not. */
export interface RepairTarget {
  readonly tenant: string;
  readonly mode: Mode;
  readonly account?: string;
}

/** Builds a part of a live generation anew, in place. */
export async function repairProjections(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  { tenant, mode, account }: RepairTarget,
  onPage?: (events: number, last: string) => void,
): Promise<object> {
  const { names, tenants, parts } = operator;
  if (!MODES.includes(mode) || (await tenants.find(tenant)) === undefined) throw new CommandError(`there is no tenant ${tenant}`);
  const accountRef = account === undefined ? undefined : names.accountRef({ tenant, mode }, account);
  const part: RepairScope['part'] =
    accountRef === undefined
      ? { kind: 'tenant', tenant, mode }
      : { kind: 'streams', streams: new Set([names.accountStream({ tenant, mode }, accountRef)]) };
  if (part.kind === 'streams') await mustExist(parts, part.streams);
  const concerns = (stream: string): boolean => {
    const scope = scopeOfStream(stream);
    return scope?.tenant === tenant && scope.mode === mode;
  };
  const where = { tenant, mode, ...(accountRef === undefined ? {} : { accountRef }) };
  return recorded(operator, 'repair', projectors, where, async (client, signal) => {
    const repaired = await repair(parts, client, projectors, { part, concerns }, { signal, ...(onPage ? { onPage } : {}) });
    const end = ({ projection: _, generation, ...details }: (typeof repaired)[number]): OperationEnd => ({
      outcome: 'done',
      generation,
      details,
    });
    const target = { tenant, mode, ...(account === undefined ? {} : { account }) };
    return { document: { ...target, projections: repaired }, ends: new Map(repaired.map((each) => [each.projection, end(each)])) };
  });
}

async function mustExist({ log }: GenerationParts, streams: Iterable<string>): Promise<void> {
  for (const stream of streams) {
    const events = log.readStream(stream)[Symbol.asyncIterator]();
    const { done } = await events.next();
    await events.return?.();
    if (done === true) throw new CommandError('there is no such account of this tenant and mode');
  }
}

/** Tries again what is parked: the accounts concerned are built anew, in place. */
export async function retryParked(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  onPage?: (events: number, last: string) => void,
): Promise<object> {
  const { parts } = operator;
  return recorded(operator, 'retry-parked', projectors, {}, async (client, signal) => {
    const done: { projection: string; parkedBefore: number; parked: number; details: OperationEnd }[] = [];
    for (const projector of projectors) {
      const { live } = await GenerationsOf.read(client, parts.log, projector);
      const streams = await parkedStreamsOf(parts.pool, projector.name, live.generation);
      const [repaired] =
        streams.size === 0
          ? []
          : await repair(parts, client, [projector], scopeOfParked(streams), { signal, ...(onPage ? { onPage } : {}) });
      const { parkedBefore, parked } = repaired ?? { parkedBefore: 0, parked: 0 };
      const details: OperationEnd = { outcome: 'done', generation: live.generation, details: { parkedBefore, parked } };
      done.push({ projection: projector.name, parkedBefore, parked, details });
    }
    const document = {
      projections: done.map(({ projection, parkedBefore, parked }) => ({
        projection,
        retried: parkedBefore,
        released: parkedBefore - parked,
        parked,
      })),
    };
    return { document, ends: new Map(done.map(({ projection, details }) => [projection, details])) };
  });
}

async function parkedStreamsOf(pool: Pool, projection: string, generation: number): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ stream: string }>(
    'select stream from ledger.parked_streams where projection = $1 and generation = $2',
    [projection, generation],
  );
  return new Set(rows.map(({ stream }) => stream));
}

function scopeOfParked(streams: ReadonlySet<string>): RepairScope {
  const textOf = (stream: string): string => JSON.stringify(scopeOfStream(stream) ?? null);
  const scopes = new Set([...streams].map(textOf));
  // A stream whose name says nothing of a tenant is of nobody, or of somebody whom only its events name.
  return { part: { kind: 'streams', streams }, concerns: (stream) => scopes.has('null') || scopes.has(textOf(stream)) };
}

export interface DiffDocument {
  readonly projection: string;
  readonly liveGeneration: number;
  readonly generation: number;
  /** Where both stand. */
  readonly position: string | null;
  /** Rows of the new one, and rows in which they differ. */
  readonly rows: number;
  readonly count: number;
  /** The first of them. */
  readonly differences: readonly ShownDifference[];
}

/** Compares the generation that waits with the live one, at one position. */
export async function diffProjection({ parts, signal }: ProjectionOperator, projector: Projector, limit: number): Promise<DiffDocument> {
  return withGenerationsLock(parts.pool, async (client) => {
    const generations = await GenerationsOf.read(client, parts.log, projector);
    const { live, ready } = generations;
    if (!ready) throw new GenerationRefused(`there is no new generation of ${projector.name}: rebuild it first`);
    const follower = await Follower.open(parts, projector, ready);
    return withSnapshot(parts.pool, async (snapshot) => {
      await atOnePosition(parts, client, [{ projector, live, follower }], () => snapshot.take(), { signal });
      const { rows, differences: count } = await countDifferences(snapshot.client, projector, live.generation, ready.generation);
      const listed = count === 0 ? [] : await listDifferences(snapshot.client, projector, live.generation, ready.generation, limit);
      const differences = listed.map((difference) => shownDifference(projector, difference));
      const position = follower.track.position ?? null;
      return {
        projection: projector.name,
        liveGeneration: live.generation,
        generation: ready.generation,
        position,
        rows,
        count,
        differences,
      };
    });
  });
}

/** Makes what was built live. @param all of all projections those that have something that waits; otherwise each must. */
export async function swapProjections(operator: ProjectionOperator, projectors: readonly Projector[], all: boolean): Promise<object> {
  const chosen = all ? await waiting(operator.parts, projectors) : projectors;
  return recorded(operator, 'swap', chosen, {}, async (client, signal) => ended(await swap(operator.parts, client, chosen, signal)));
}

async function waiting({ pool, log }: GenerationParts, projectors: readonly Projector[]): Promise<readonly Projector[]> {
  const found: Projector[] = [];
  for (const projector of projectors) if ((await GenerationsOf.read(pool, log, projector)).ready) found.push(projector);
  if (found.length === 0) throw new GenerationRefused('no projection has a new generation: rebuild first');
  return found;
}

/** Makes the generation live again that was so before. */
export async function rollBackProjection(operator: ProjectionOperator, projector: Projector): Promise<object> {
  return recorded(operator, 'rollback', [projector], {}, async (client, signal) =>
    ended(await rollBack(operator.parts, client, projector, signal)),
  );
}

function ended({ switched, heldMs }: Awaited<ReturnType<typeof swap>>): { document: object; ends: ReadonlyMap<string, OperationEnd> } {
  const held = Math.round(heldMs * 10) / 10;
  const end = ({ generation, previous, position }: (typeof switched)[number]): OperationEnd => ({
    ...{ outcome: 'done', generation, previous, details: { position, heldMs: held } },
  });
  return { document: { heldMs: held, projections: switched }, ends: new Map(switched.map((each) => [each.projection, end(each)])) };
}

/** The newest first, times as ISO 8601. */
export async function showHistory({ parts }: ProjectionOperator, limit: number): Promise<readonly object[]> {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const entries: readonly ProjectionHistoryEntry[] = await projectionHistory(parts.pool, limit);
  return entries.map(({ startedAt, finishedAt, ...entry }) => ({ ...entry, startedAt: iso(startedAt), finishedAt: iso(finishedAt) }));
}

interface Done {
  readonly document: object;
  readonly ends: ReadonlyMap<string, OperationEnd>;
}

/** Does it under the lock and leaves a line of history for each projection, whatever becomes of it. */
async function recorded(
  { parts, actor, signal }: ProjectionOperator,
  action: ProjectionAction,
  projectors: readonly Projector[],
  where: Pick<ProjectionOperation, 'tenant' | 'mode' | 'accountRef'>,
  work: (client: PoolClient, signal: AbortSignal) => Promise<Done>,
): Promise<object> {
  const { pool } = parts;
  return withGenerationsLock(pool, async (client, lost) => {
    const operations = projectors.map(({ name }) => ({ action, projection: name, actor, ...where }));
    const ids = await recordBegun(pool, operations);
    const end = async (endOf: (projection: string) => OperationEnd | undefined): Promise<void> => {
      for (const [index, { name }] of projectors.entries()) {
        const how = endOf(name);
        if (how) await recordEnd(pool, ids[index] ?? '', how);
      }
    };
    try {
      const { document, ends } = await work(client, AbortSignal.any([signal, lost]));
      await end((projection) => ends.get(projection));
      return document;
    } catch (error) {
      const failed: OperationEnd =
        error instanceof Interrupted
          ? { outcome: 'cancelled', details: {} }
          : { outcome: 'failed', details: { error: describeError(error) } };
      await end(() => failed).catch(() => undefined);
      throw error;
    }
  });
}
