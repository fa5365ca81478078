import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { countOtherReleases } from '../../stores/release.js';
import { appliedMigrations, confirmMigrations, MIGRATION_NAMES } from '../../postgres/migrator.js';
import { anyOf, now, run, tables } from '../../postgres/statements.js';
import { inTransactionOf } from '../../postgres/transaction.js';
import {
  generationRecords,
  GenerationRefused,
  isFollowed,
  type GenerationRecord,
} from '../../projecting/generations/generation-records.js';
import { definitionOf, FOLLOWED_STATES } from '../../projecting/generations/generations.js';
import { notDone } from '../outcome.js';
import { recorded, type RecordingOperator } from '../projections/projection-operator.js';

/** Operations on the change from one release to another: each returns the document of `--json`. */

/** The state of this release among the others on the database. */
export async function showRelease({
  parts: { pool, projectors },
}: Pick<RecordingOperator, 'parts'>) {
  const { unconfirmed } = await appliedMigrations(pool);
  const known = new Set(MIGRATION_NAMES);
  const own = unconfirmed.filter((name) => known.has(name));
  const records = await ownRecords(pool, projectors);
  const projections = projectors.map(({ name }) => {
    const record = records.find(({ projection }) => projection === name);
    return {
      projection: name,
      /** Null: the service of this release has not been started yet. */
      generation: record?.generation ?? null,
      state: record?.state ?? null,
      complete: record?.complete ?? false,
      position: record?.position ?? null,
    };
  });
  return {
    /** True: releases that do not know this one's migrations cannot start any more. */
    confirmed: own.length === 0 && projections.every(({ state }) => state === 'live'),
    /** Running processes of the service that belong to other releases. */
    otherProcesses: await countOtherReleases(pool, projectors),
    migrations: {
      /** This release's, which older releases may ignore. */
      unconfirmed: own,
      /** Unconfirmed ones of a newer release. */
      unknown: unconfirmed.filter((name) => !known.has(name)),
    },
    projections,
  };
}

/**
 * Makes this release the one of the database: its read models become the live ones, those of other
 * releases are retired, and releases that do not know its migrations cannot start any more. Nothing
 * is changed while a process of another release runs.
 */
export async function confirmRelease(operator: RecordingOperator): Promise<object> {
  const { parts } = operator;
  const { pool, projectors } = parts;
  const processes = await countOtherReleases(pool, projectors);
  if (processes > 0)
    throw notDone(
      `${processes} ${processes === 1 ? 'process' : 'processes'} of another release still run on this database: stop them first`,
    );
  const records = await ownRecords(pool, projectors);
  const missing = projectors
    .map(({ name }) => name)
    .filter((name) => !records.some((one) => one.projection === name && one.complete));
  if (missing.length > 0)
    throw notDone(
      `the read models of this release are not built yet (${missing.join(', ')}): let its service catch up first`,
    );
  const parallel = records.filter(({ state }) => state !== 'live');
  const changed = projectors.filter(({ name }) =>
    parallel.some(({ projection }) => projection === name),
  );
  return recorded(operator, { action: 'swap', projectors: changed }, async (client) => {
    const migrations = await inTransactionOf(client, async () => {
      if ((await countOtherReleases(client, projectors)) > 0)
        throw new GenerationRefused('a process of another release has started meanwhile');
      await makeLive(client, records);
      return confirmMigrations(client);
    });
    return {
      document: { migrations, projections: changed.map(({ name }) => name) },
      ends: parallel.map(({ projection, generation, position = null }) => ({
        projection,
        generation,
        details: { position },
      })),
    };
  });
}

type Projectors = RecordingOperator['parts']['projectors'];
type Database = RecordingOperator['parts']['pool'] | PoolClient;

/** What this release follows. */
async function ownRecords(
  db: Database,
  projectors: Projectors,
): Promise<readonly GenerationRecord[]> {
  const records = await generationRecords(
    db,
    projectors.map(({ name }) => name),
  );
  return records.filter(({ projection, state, definition }) => {
    const projector = projectors.find(({ name }) => name === projection);
    return isFollowed(state) && projector && definition === definitionOf(projector);
  });
}

/** Those that are live already stay so; every other followed generation is retired. */
async function makeLive(client: PoolClient, own: readonly GenerationRecord[]): Promise<void> {
  const isOwn = sql<boolean>`(projection, generation) in (select * from unnest(
    ${own.map(({ projection }) => projection)}::text[], ${own.map(({ generation }) => generation)}::integer[]))`;
  const followed = tables
    .updateTable('ledger.projection_generations')
    .where('state', '=', anyOf(FOLLOWED_STATES));
  await run(
    client,
    followed
      .set({ state: 'retired', retired_at: now })
      .where('projection', '=', anyOf(own.map(({ projection }) => projection)))
      .where((eb) => eb.not(isOwn)),
  );
  await run(client, followed.set({ state: 'live' }).where(isOwn));
  // They have caught up; what was said was said of the retired ones.
  await run(client, tables.updateTable('ledger.followed_log').set({ rebuilt: true }));
}
