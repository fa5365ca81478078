import { isDeepStrictEqual } from 'node:util';
import type { EventCodec } from '../src/event-log/codec.js';
import { decodeForProjectors } from '../src/projecting/decode-events.js';
import { foldLog, ProjectionFold } from '../src/projecting/generations/log-fold.js';
import type { ReadModelTable, Row } from '../src/projecting/projector.js';
import type { SharedStores } from './service.js';
import type { SimulatedGeneration } from './simulated-read-models.js';

/**
 * Rows that followed the log equal those of a rebuild from its first event. At rest: every read
 * model is at the head.
 */
export async function brokenReadModels(shared: SharedStores, codec: EventCodec): Promise<string[]> {
  const rebuilt = await rebuild(shared, codec);
  return shared.readModels.followed.flatMap((generation) => [
    ...[...generation.parked].map(
      ([stream, reason]) => `${generation.projector.name}: ${stream} is parked: ${reason}`,
    ),
    ...differences(generation, rebuilt.get(generation.projector.name)),
    ...movesBack(generation, shared),
  ]);
}

/** What was applied is not applied again; after a loss of the log another generation begins. */
const movesBack = (
  { projector, moves }: SimulatedGeneration,
  { log: { positions } }: SharedStores,
): string[] =>
  moves.flatMap((position, index) => {
    const before = moves[index - 1];
    return before !== undefined && positions.number(position) < positions.number(before)
      ? [`${projector.name}: the checkpoint went back from ${before} to ${position}`]
      : [];
  });

/** As a rebuild makes it: in memory, from the first event, by the keys of now. */
async function rebuild(
  { log, readModels }: SharedStores,
  codec: EventCodec,
): Promise<ReadonlyMap<string, ProjectionFold>> {
  const { projectors } = readModels;
  const { positions } = log;
  const folds = projectors.map(
    (projector) => new ProjectionFold(projector, positions.token(log.head)),
  );
  await foldLog({
    log: {
      readAll: (after, limit) => Promise.resolve(log.behind(positions.number(after), limit)),
      compare: (a, b) => Number(positions.number(a) - positions.number(b)),
    },
    decode: decodeForProjectors(codec),
    folds,
    knownTypes: new Set(projectors.flatMap(({ handles }) => [...handles])),
    signal: new AbortController().signal,
  });
  return new Map(folds.map((fold) => [fold.projector.name, fold]));
}

function differences(generation: SimulatedGeneration, fold: ProjectionFold | undefined): string[] {
  const { projector } = generation;
  return projector.tables.flatMap((table) => {
    const rebuilt = new Map([...(fold?.rows.rowsOf(table.name) ?? [])].map(keyed(table)));
    const followed = new Map([...generation.of(table.name).values()].map(keyed(table)));
    return [...new Set([...rebuilt.keys(), ...followed.keys()])].flatMap((key) => {
      const [row, other] = [followed.get(key), rebuilt.get(key)];
      if (isSame(table, row, other)) return [];
      return [
        `${projector.name}: the row ${table.name}/${key} is ${JSON.stringify(row)}, and ${JSON.stringify(other)} in a rebuild`,
      ];
    });
  });
}

const keyed =
  ({ primaryKey }: ReadModelTable) =>
  (row: Row): readonly [key: string, row: Row] => [
    primaryKey.map((column) => String(row[column])).join(' '),
    row,
  ];

/** As tables keep them: a member that is missing is null. */
const isSame = (
  { columns }: ReadModelTable,
  one: Row | undefined,
  other: Row | undefined,
): boolean =>
  one !== undefined &&
  other !== undefined &&
  Object.keys(columns).every((column) =>
    isDeepStrictEqual(plain(one[column]), plain(other[column])),
  );

const plain = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? (JSON.parse(JSON.stringify(value)) as unknown)
    : (value ?? null);
