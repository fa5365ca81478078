import { isoOrNull, isoText } from '../../foundation/instant.js';
import { withGenerationsLock } from '../../postgres/generations-lock.js';
import { scopeOfMode } from '../../domain/scope.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import { listParkedStreams, type ParkedStream } from '../../projecting/checkpoints.js';
import { projectionStatus } from '../../projecting/following/projection-status.js';
import {
  atOnePosition,
  Follower,
  type GenerationParts,
} from '../../projecting/generations/catch-up.js';
import {
  countDifferences,
  listDifferences,
  withSnapshot,
} from '../../projecting/generations/generation-diff.js';
import {
  generationRecords,
  GenerationsOf,
} from '../../projecting/generations/generation-records.js';
import { projectionHistory } from '../../projecting/generations/projection-history.js';
import { followedGenerations } from '../../projecting/generations/live-generations.js';
import { countEvents, rebuild, type RebuildOptions } from '../../projecting/generations/rebuild.js';
import type { Projector } from '../../projecting/projector.js';
import { notDone } from '../outcome.js';
import { recorded, type ProjectionOperator } from './projection-operator.js';
import { shownDifference } from './shown-difference.js';

/** The operations on read models: each returns the document that `--json` prints. */

export type ShownProjection = Awaited<ReturnType<typeof showStatus>>[number];

export async function showStatus({ parts }: ProjectionOperator) {
  const { pool, log, projectors } = parts;
  const rows = await projectionStatus(pool, log, projectors, Date.now());
  const shown = [];
  for (const projector of projectors) {
    const row = rows.find(({ projection }) => projection === projector.name);
    if (!row) continue;
    const { generation, position, head, lagEvents, lagSeconds, skipped } = row;
    const { ready, previous } = await GenerationsOf.read(pool, log, projector);
    shown.push({
      name: projector.name,
      generation,
      position,
      head,
      /** Up to 1000, which means: 1000 or more. */
      lagEvents,
      lagSeconds,
      /** Number of parked streams. */
      parked: row.parkedStreams,
      /** Number of streams that continue without a skipped event. */
      skipped,
      lastError: row.lastError ?? row.parkedBecause,
      /** The generation that is built and waits to be swapped in. */
      ready: ready?.generation ?? null,
      /** The generation that `rollback` goes back to. */
      previous: previous?.generation ?? null,
    });
  }
  return shown;
}

/** The answer of `rebuild --dry-run`, which changes nothing. */
export async function planRebuild(
  { parts, signal }: ProjectionOperator,
  projectors: readonly Projector[],
): Promise<object> {
  const { pool, log } = parts;
  const records = await generationRecords(
    pool,
    projectors.map(({ name }) => name),
  );
  const { live: followed } = await followedGenerations(pool, projectors);
  const live = records.filter(
    ({ projection, generation }) => followed.get(projection) === generation,
  );
  const until = live
    .map(({ position }) => position)
    .reduce((a, b) => (log.compare(a, b) >= 0 ? a : b), undefined);
  const events = await countEvents(parts, until, { signal });
  return {
    dryRun: true,
    events,
    projections: projectors.map(({ name }) => {
      const generations = records.filter(({ projection }) => projection === name);
      const current = live.find(({ projection }) => projection === name);
      return {
        projection: name,
        generation: Math.max(0, ...generations.map(({ generation }) => generation)) + 1,
        liveGeneration: current?.generation ?? null,
        position: current?.position ?? null,
      };
    }),
  };
}

/** Builds new generations and swaps none. */
export async function rebuildProjections(
  operator: ProjectionOperator,
  projectors: readonly Projector[],
  options: Omit<RebuildOptions, 'signal'> = {},
): Promise<object> {
  return recorded(operator, { action: 'rebuild', projectors }, async (client, signal) => {
    const startedAt = performance.now();
    let events = 0;
    const built = await rebuild(operator.parts, client, projectors, {
      ...options,
      signal,
      onProgress: (progress) => {
        if (progress.phase === 'reading') ({ events } = progress);
        options.onProgress?.(progress);
      },
    });
    const seconds = Math.round(performance.now() - startedAt) / 1_000;
    return {
      document: { events, seconds, projections: built },
      ends: built.map(({ projection, generation, liveGeneration: previous, ...figures }) => {
        const { position, rows, parked, differences } = figures;
        const details = { position, rows, parked, differences };
        return { projection, generation, previous, details };
      }),
    };
  });
}

export type DiffDocument = Awaited<ReturnType<typeof diffProjection>>;

/** Compares the waiting generation with the live one, at one position. */
export async function diffProjection(
  { parts, signal }: ProjectionOperator,
  projector: Projector,
  limit: number,
) {
  return withGenerationsLock(parts.pool, async (client) => {
    const generations = await GenerationsOf.read(client, parts.log, projector);
    const { live, ready } = generations;
    if (!ready) throw notDone(`there is no new generation of ${projector.name}: rebuild it first`);
    const follower = await Follower.open(parts, projector, ready);
    return withSnapshot(parts.pool, async (snapshot) => {
      const { log } = parts;
      const options = { signal, compares: true };
      await atOnePosition(
        { log, client },
        [{ projector, live, follower }],
        () => snapshot.take(),
        options,
      );
      const compared = { live: live.generation, built: ready.generation };
      const { rows, differences: count } = await countDifferences(
        snapshot.client,
        projector,
        compared,
      );
      const listed =
        count === 0 ? [] : await listDifferences(snapshot.client, projector, compared, limit);
      return {
        projection: projector.name,
        liveGeneration: live.generation,
        generation: ready.generation,
        /** Of both generations. */
        position: follower.track.position ?? null,
        /** Number of rows of the new generation, and of rows in which the two differ. */
        rows,
        count,
        /** The first differing rows. */
        differences: listed.map((difference) => shownDifference(projector, difference)),
      };
    });
  });
}

/** A stream that an event holds back from a read model. Times are ISO 8601. */
export type ShownParkedStream = Awaited<ReturnType<typeof showParkedStreams>>[number];

/**
 * Streams that are parked in the live read models, the newest first.
 * @param stream undefined: all streams.
 */
export async function showParkedStreams(
  operator: { readonly parts: Pick<GenerationParts, 'pool' | 'projectors' | 'log' | 'decode'> },
  limit: number,
  stream?: string,
) {
  return (await parkedStreams(operator, limit, stream)).map(({ type: _, ...parked }) => parked);
}

/** The same with the type of the event that parks each. */
export async function parkedStreams(
  { parts }: { readonly parts: Pick<GenerationParts, 'pool' | 'projectors' | 'log' | 'decode'> },
  limit: number,
  stream?: string,
) {
  const { pool, projectors } = parts;
  const parked = await listParkedStreams(pool, projectors, { limit, stream });
  const accounts = new Map<string, string | null>();
  for (const { stream } of parked)
    if (!accounts.has(stream)) accounts.set(stream, await accountOf(parts, stream));
  const shown = [];
  for (const { since, revision, reached, ...one } of parked) {
    const scope = scopeOfStream(one.stream);
    const { tenant = null, mode = null } = scope === undefined ? {} : scopeOfMode(scope);
    shown.push({
      ...one,
      ...(await waitingOf(parts, { ...one, revision, reached })),
      since: isoText(since),
      /** Null: the name of the stream contains none. */
      tenant,
      mode,
      /** Null: it was forgotten, or its first event cannot be decoded. */
      account: accounts.get(one.stream) ?? null,
    });
  }
  return shown;
}

/** The event that parks the stream, and those after it that the read model would have applied. */
async function waitingOf(
  { log, projectors }: Pick<GenerationParts, 'log' | 'projectors'>,
  { projection, stream, revision, reached }: Omit<ParkedStream, 'since' | 'reason' | 'position'>,
) {
  const handles: ReadonlySet<string> | undefined = projectors.find(
    ({ name }) => name === projection,
  )?.handles;
  let events = 0;
  let parkedAt: string | null = null;
  for await (const { type, position, revision: at } of log.readStream(stream, { from: revision })) {
    if (log.compare(position, reached ?? undefined) > 0) break;
    if (at === revision) parkedAt = type;
    if (at === revision || handles?.has(type)) events += 1;
  }
  /** `events`: how many wait, with that one. */
  return { type: parkedAt, events };
}

/** The account of a stream, from its first event: operators repair and support by its id. */
async function accountOf(
  { log, decode }: Pick<GenerationParts, 'log' | 'decode'>,
  stream: string,
): Promise<string | null> {
  for await (const first of log.readStream(stream, { limit: 1 })) {
    const [decoded] = await decode([first]);
    if (decoded && 'event' in decoded && decoded.event.type === 'AccountOpened')
      return decoded.event.accountId.value;
  }
  return null;
}

/** A line of history, as operators see it. Times are ISO 8601. */
export type ShownHistoryEntry = Awaited<ReturnType<typeof showHistory>>[number];

/** The newest entries first. */
export async function showHistory({ parts }: ProjectionOperator, limit: number) {
  const entries = await projectionHistory(parts.pool, limit);
  return entries.map(({ startedAt, finishedAt, ...entry }) => ({
    ...entry,
    startedAt: isoText(startedAt),
    finishedAt: isoOrNull(finishedAt),
  }));
}
