import type { PoolClient } from 'pg';
import type { LedgerMode } from '../../domain/scope.js';
import type { Position } from '../../event-log/event-log.js';
import { countUnfinishedErasures, untilErasuresAreFinished } from '../following/erasure-pieces.js';
import { anyOf, run, tables } from '../../postgres/statements.js';
import { tryInTransactionOf } from '../../postgres/transaction.js';
import { parkedStreams, skippedEvents, type SkippedEvent } from '../checkpoints.js';
import { quoted, schemaOf } from '../identifiers.js';
import type { Projector, ReadModelTable, Row } from '../projector.js';
import { holdLive, Interrupted, knownTypesOf, type GenerationParts } from './catch-up.js';
import { differ } from './generation-diff.js';
import { GenerationsOf, recordParked, type GenerationRecord } from './generation-records.js';
import type { RowObserver } from './folded-rows.js';
import { bareType, type ParkedEvent } from './generation-store.js';
import { placeOf, primaryKeyOf } from './generations.js';
import { foldLog, ProjectionFold } from './log-fold.js';
import { logParked } from '../log-parked.js';

/** A part of a read model: a tenant in one mode, or the rows that certain streams have written. */
export interface RepairScope {
  readonly part:
    | { readonly kind: 'tenant'; readonly tenant: string; readonly mode: LedgerMode }
    | { readonly kind: 'streams'; readonly streams: ReadonlySet<string> };
  /** Whether a stream is of the same tenant and mode: rows may count all that happened there. */
  readonly concerns: (stream: string) => boolean;
  /** Events of the part to leave out from now on; undefined: the same as before. */
  readonly skips?: readonly SkippedEvent[];
}

export interface RepairOptions {
  readonly signal: AbortSignal;
  readonly onPage?: (events: number, last: Position) => void;
}

export interface RepairedProjection {
  readonly projection: string;
  readonly generation: number;
  readonly position: Position | null;
  /** Changed rows. */
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Streams of this part that were parked, and that still are. */
  readonly parkedBefore: number;
  readonly parked: number;
}

/** The fold of one projection, and which of its rows are the part. */
interface Repair {
  readonly projector: Projector;
  readonly live: GenerationRecord;
  readonly fold: ProjectionFold;
  /** Keys of the rows that the streams wrote, by table; undefined: all of the fold's rows. */
  readonly touched: ReadonlyMap<string, Map<string, readonly string[]>> | undefined;
  /** Events of all streams that the rows are made without. */
  readonly skipped: readonly SkippedEvent[];
  /** Of streams that were not parked before. */
  newlyParked: readonly ParkedEvent[];
}

/** Events that are folded while the live generation is held. */
const HELD_EVENTS_MAX = 2_000;
const ROWS_AT_ONCE = 5_000;

/**
 * Rebuilds a part of the live generations in place: folds it in memory until close to their
 * positions, then with locked checkpoints up to these, compares, and changes the rows in one
 * transaction. Readers see the old or the new rows. `client` holds the lock on generations.
 * @throws {GenerationRefused} {Interrupted} {StoppedAtUndecodable} with nothing changed.
 */
export async function repair(
  { client, ...parts }: GenerationParts & { readonly client: PoolClient },
  projectors: readonly Projector[],
  scope: RepairScope,
  options: RepairOptions,
): Promise<readonly RepairedProjection[]> {
  const { log } = parts;
  const accounts = new Set<string>();
  const writer = { isOfScope: false };
  const repairs: Repair[] = [];
  for (const projector of projectors)
    repairs.push(await begin({ ...parts, client }, projector, scope, writer));
  const { part } = scope;
  const fold = (signal: AbortSignal): Promise<void> =>
    foldLog({
      log,
      decode: parts.decode,
      folds: repairs.map((each) => each.fold),
      knownTypes: knownTypesOf(parts),
      signal,
      wants: ({ stream }) => scope.concerns(stream),
      ...(options.onPage ? { onPage: options.onPage } : {}),
      onEvent: (event) => {
        writer.isOfScope = part.kind === 'streams' && part.streams.has(event.stream);
        if (writer.isOfScope) accounts.add(event.accountRef);
      },
    });
  for (;;) {
    await fold(options.signal);
    const lives = repairs.map(({ live }) => live);
    // Pieces of an erasure rely on the rows that earlier pieces have left.
    await untilErasuresAreFinished(client, lives, options);
    if (options.signal.aborted) throw new Interrupted();
    const repaired = await tryInTransactionOf(client, async () => {
      const held = await holdLive(client, lives);
      for (const each of repairs) each.fold.until = held.get(each.projector.name);
      if (!(await isNear(parts, repairs))) return undefined;
      if ((await countUnfinishedErasures(client, lives)) > 0) return undefined;
      await fold(new AbortController().signal);
      const done: RepairedProjection[] = [];
      for (const each of repairs) done.push(await repairPart(client, each, scope, [...accounts]));
      return done;
    });
    if (repaired === undefined) continue;
    for (const { live, newlyParked } of repairs) logParked(parts.logger, live, newlyParked);
    return repaired;
  }
}

async function begin(
  { log, client }: GenerationParts & { readonly client: PoolClient },
  projector: Projector,
  scope: RepairScope,
  writer: { readonly isOfScope: boolean },
): Promise<Repair> {
  const { live } = await GenerationsOf.read(client, log, projector);
  const before = await skippedEvents(client, live);
  const skipped =
    scope.skips === undefined
      ? before
      : [...before.filter(({ stream }) => !isInPart(scope, stream)), ...scope.skips];
  const positions = new Set(skipped.map(({ position }) => position));
  const touched =
    scope.part.kind === 'tenant'
      ? undefined
      : new Map(projector.tables.map(({ name }) => [name, new Map<string, readonly string[]>()]));
  const observe: RowObserver = (table, key) => {
    if (writer.isOfScope) touched?.get(table)?.set(JSON.stringify(key), key);
  };
  const fold = new ProjectionFold(projector, live.position, observe, positions);
  return { projector, live, fold, touched, skipped, newlyParked: [] };
}

const isInPart = ({ part, concerns }: RepairScope, stream: string): boolean =>
  part.kind === 'streams' ? part.streams.has(stream) : concerns(stream);

async function isNear({ log }: GenerationParts, repairs: readonly Repair[]): Promise<boolean> {
  for (const { fold } of repairs) {
    const next = await log.readAll(fold.position, HELD_EVENTS_MAX);
    const last = next.at(-1);
    if (last && log.compare(last.position, fold.until) < 0) return false;
  }
  return true;
}

async function repairPart(
  client: PoolClient,
  each: Repair,
  scope: RepairScope,
  accounts: readonly string[],
): Promise<RepairedProjection> {
  const { projector, live, fold, touched } = each;
  const { name } = projector;
  const done = { added: 0, changed: 0, removed: 0 };
  for (const table of projector.tables) {
    const place = placeOf(schemaOf(name, live.generation), table);
    await client.query(`create temp table fresh (like ${place} including defaults) on commit drop`);
    const rows = [...rowsInScope(fold, table, touched?.get(table.name), accounts)];
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
      await insertFresh(client, table, rows.slice(from, from + ROWS_AT_ONCE));
    await client.query(`alter table fresh add ${primaryKeyOf(table)}`);
    done.removed += await removeExtraRows(client, { place, table }, scope.part, {
      touched: [...(touched?.get(table.name)?.values() ?? [])],
      accounts,
    });
    const { added, changed } = await upsert(client, place, table);
    done.added += added;
    done.changed += changed;
    await client.query('drop table fresh');
  }
  const { newlyParked, ...parked } = await parkAnew(client, live, fold, scope);
  each.newlyParked = newlyParked;
  if (scope.skips !== undefined) await putSkipped(client, each);
  // The leading process has parked streams in memory: it reads them again when its next write
  // fails.
  await run(
    client,
    tables
      .updateTable('ledger.projection_checkpoints')
      .set((eb) => ({ version: eb('version', '+', 1n) }))
      .where((eb) => eb.and({ projection: name, generation: live.generation })),
  );
  return {
    projection: name,
    generation: live.generation,
    position: fold.position ?? null,
    ...done,
    ...parked,
  };
}

async function insertFresh(
  client: PoolClient,
  table: ReadModelTable,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.entries(table.columns);
  const names = columns.map(([name]) => quoted(name)).join(', ');
  const record = columns.map(([name, type]) => `${quoted(name)} ${bareType(type)}`).join(', ');
  await client.query(
    `insert into fresh (${names}) select ${names} from json_to_recordset($1::json) as r (${record})`,
    [JSON.stringify(rows)],
  );
}

/** The column with a row's account; undefined: it has none, or is found by its key. */
const accountColumn = (table: ReadModelTable): string | undefined =>
  ['account_ref', 'referred_account_ref'].find((column) => column in table.columns);

function* rowsInScope(
  { rows }: ProjectionFold,
  table: ReadModelTable,
  touched: ReadonlyMap<string, readonly string[]> | undefined,
  accounts: readonly string[],
): Generator<Row> {
  const column = accountColumn(table);
  for (const row of rows.rowsOf(table.name)) {
    const key = JSON.stringify(table.primaryKey.map((part) => String(row[part])));
    if (
      touched === undefined ||
      touched.has(key) ||
      (column !== undefined && accounts.includes(String(row[column])))
    )
      yield row;
  }
}

/** Removes rows of the part that the fold does not have. */
async function removeExtraRows(
  client: PoolClient,
  { place, table }: { readonly place: string; readonly table: ReadModelTable },
  part: RepairScope['part'],
  {
    touched,
    accounts,
  }: { readonly touched: readonly (readonly string[])[]; readonly accounts: readonly string[] },
): Promise<number> {
  const key = (alias: string): string =>
    `(${table.primaryKey.map((column) => `${alias}.${quoted(column)}`).join(', ')})`;
  const isMissing = `not exists (select from fresh f where ${key('f')} = ${key('t')})`;
  if (part.kind === 'tenant') {
    const { rowCount } = await client.query(
      `delete from ${place} t where t.tenant = $1 and t.mode = $2 and ${isMissing}`,
      [part.tenant, part.mode],
    );
    return rowCount ?? 0;
  }
  const columns = table.primaryKey.map((_, number) => touched.map((parts) => parts[number] ?? ''));
  const named = `${key('t')} in (select * from unnest(${columns.map((_, number) => `$${number + 1}::text[]`).join(', ')}))`;
  const column = accountColumn(table);
  const owned =
    column === undefined ? '' : ` or t.${quoted(column)} = any ($${columns.length + 1}::text[])`;
  const { rowCount } = await client.query(
    `delete from ${place} t where (${named}${owned}) and ${isMissing}`,
    [...columns, ...(column === undefined ? [] : [accounts])],
  );
  return rowCount ?? 0;
}

async function upsert(
  client: PoolClient,
  place: string,
  table: ReadModelTable,
): Promise<{ added: number; changed: number }> {
  const columns = Object.keys(table.columns);
  const others = columns.filter((column) => !table.primaryKey.includes(column)).map(quoted);
  const set = others.map((column) => `${column} = excluded.${column}`).join(', ');
  const update =
    others.length === 0 ? 'nothing' : `update set ${set} where ${differ('t', 'excluded', table)}`;
  const names = columns.map(quoted).join(', ');
  const { rows } = await client.query<{ added: number; changed: number }>(
    `with written as (
       insert into ${place} as t (${names}) select ${names} from fresh
       on conflict (${table.primaryKey.map(quoted).join(', ')}) do ${update} returning xmax = 0 as added)
     select (count(*) filter (where added))::float8 as added, (count(*) filter (where not added))::float8 as changed from written`,
  );
  return rows[0] ?? { added: 0, changed: 0 };
}

async function parkAnew(
  client: PoolClient,
  { projection, generation }: GenerationRecord,
  { parked }: ProjectionFold,
  scope: RepairScope,
): Promise<Pick<Repair, 'newlyParked'> & { parkedBefore: number; parked: number }> {
  const streams = await parkedStreams(client, projection, generation);
  const still = parked.filter(({ stream }) => isInPart(scope, stream));
  const ofScope = streams.filter((stream) => isInPart(scope, stream));
  await run(
    client,
    tables
      .deleteFrom('ledger.parked_streams')
      .where((eb) => eb.and({ projection, generation }))
      .where('stream', '=', anyOf(ofScope)),
  );
  await recordParked(client, projection, generation, still);
  const before = new Set(ofScope);
  return {
    parkedBefore: before.size,
    parked: still.length,
    newlyParked: still.filter(({ stream }) => !before.has(stream)),
  };
}

async function putSkipped(client: PoolClient, { live, skipped }: Repair): Promise<void> {
  const { projection, generation } = live;
  await run(
    client,
    tables.deleteFrom('ledger.skipped_events').where((eb) => eb.and({ projection, generation })),
  );
  for (const event of skipped)
    await run(
      client,
      tables.insertInto('ledger.skipped_events').values({ projection, generation, ...event }),
    );
}
