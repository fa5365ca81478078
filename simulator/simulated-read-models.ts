import pg from 'pg';
import type { Position, SeenEvent } from '../src/event-log/event-log.js';
import { parseWitness, witnessText } from '../src/event-log/witness.js';
import type { Locks } from '../src/postgres/leadership.js';
import type { Checkpoint } from '../src/projecting/checkpoints.js';
import type {
  UnfinishedErasure,
  NextPiece,
  BatchToWrite,
} from '../src/projecting/generations/generation-store.js';
import type {
  GenerationRows,
  ProjectionStores,
} from '../src/projecting/following/projection-stores.js';
import type { LiveGenerations } from '../src/projecting/generations/live-generations.js';
import type { Lookup, Projector, ReadModelTable, Row } from '../src/projecting/projector.js';
import type { Line } from './connection.js';
import { frozen } from './frozen.js';
import { StoreAway } from './store-away.js';

const away = (): Error => new StoreAway('the simulated database is away');

/** A build of a read model as its server holds it. */
export class SimulatedGeneration {
  position: Position | undefined;
  witness: string | null = null;
  version = 0n;
  lastError: string | null = null;
  /** Why, by stream. */
  readonly parked = new Map<string, string>();
  /** The checkpoints that were written, in their order. */
  readonly moves: Position[] = [];
  /** Oldest first. */
  erasures: UnfinishedErasure[] = [];
  private readonly tables: ReadonlyMap<string, Map<string, Row>>;

  constructor(
    readonly projector: Projector,
    readonly generation: number,
  ) {
    this.tables = new Map(projector.tables.map(({ name }) => [name, new Map()]));
  }

  of(table: string): Map<string, Row> {
    const rows = this.tables.get(table);
    if (!rows) throw new Error(`there is no table ${table}`);
    return rows;
  }

  /** The event behind which it was written last; undefined: none, or unknown. */
  get seen(): SeenEvent | undefined {
    return this.position === undefined ? undefined : parseWitness(this.witness, this.position);
  }

  moveTo(position: Position, eventId: string | undefined): void {
    this.position = position;
    this.moves.push(position);
    if (eventId !== undefined) this.witness = witnessText({ position, eventId });
    this.version += 1n;
    this.lastError = null;
  }
}

/** The read models that all processes share. */
export class SimulatedReadModels {
  private readonly live = new Map<string, SimulatedGeneration>();
  /** By projection and number: a writer that has not noticed yet continues with an earlier one. */
  private readonly generations = new Map<string, SimulatedGeneration>();

  constructor(readonly projectors: readonly Projector[]) {
    for (const projector of projectors) this.begin(projector, 1);
  }

  /** Those that are followed, in the order of the projectors. */
  get followed(): readonly SimulatedGeneration[] {
    return [...this.live.values()];
  }

  liveOf(projection: string): SimulatedGeneration {
    return found(this.live.get(projection));
  }

  generation(projection: string, generation: number): SimulatedGeneration {
    return found(this.generations.get(`${projection} ${generation}`));
  }

  /** An empty one takes the place of the live one. */
  renew({ projector, generation }: SimulatedGeneration): void {
    this.begin(projector, generation + 1);
  }

  private begin(projector: Projector, generation: number): void {
    const begun = new SimulatedGeneration(projector, generation);
    this.live.set(projector.name, begun);
    this.generations.set(`${projector.name} ${generation}`, begun);
  }
}

const found = <T>(generation: T | undefined): T => {
  if (generation === undefined) throw new RangeError('there is no such generation');
  return generation;
};

/** The generations as one process knows them. */
export class SimulatedLiveGenerations implements Pick<LiveGenerations, 'refresh' | 'generationOf'> {
  private known: ReadonlyMap<string, number> = new Map();

  constructor(
    private readonly models: SimulatedReadModels,
    private readonly line: Line,
  ) {}

  async refresh(): Promise<void> {
    this.known = await this.line.read(
      'rows',
      away,
      () =>
        new Map(
          this.models.followed.map(({ projector, generation }) => [projector.name, generation]),
        ),
    );
  }

  generationOf(projection: string): number | undefined {
    return this.known.get(projection);
  }
}

/** The rows of a generation as one process reaches them. */
class SimulatedRows implements GenerationRows {
  constructor(
    private readonly stored: SimulatedGeneration,
    private readonly line: Line,
  ) {}

  load(
    keys: Parameters<GenerationRows['load']>[0],
  ): Promise<readonly { readonly table: string; readonly row: Row }[]> {
    if ([...keys.values()].every((wanted) => wanted.length === 0)) return Promise.resolve([]);
    return this.line.read('rows', away, () =>
      [...keys].flatMap(([table, wanted]) =>
        wanted.flatMap((key) => {
          const row = this.stored.of(table).get(textOf(key));
          return row ? [{ table, row }] : [];
        }),
      ),
    );
  }

  find(
    { table, where, orderedBy = [] }: Lookup,
    limit: number,
    after: NextPiece['after'],
  ): Promise<readonly Row[]> {
    const behind =
      after && Object.fromEntries(orderedBy.map(({ column }, place) => [column, after[place]]));
    const conditions = Object.entries(where);
    return this.line.read('rows', away, () =>
      [...this.stored.of(table).values()]
        .filter((row) =>
          conditions.every(([column, wanted]) => wanted.includes(row[column] as string)),
        )
        .filter((row) => !behind || compareAlong(orderedBy, row, behind) > 0)
        .sort((a, b) => compareAlong(orderedBy, a, b))
        .slice(0, limit),
    );
  }

  write({
    changes,
    parked,
    position,
    eventId,
    expectedVersion,
    erasure,
  }: BatchToWrite): Promise<boolean> {
    const { stored } = this;
    return this.line.write('rows', away, () => {
      if (String(stored.version) !== expectedVersion) return false;
      // Both or neither: a row that the table refuses comes before any change.
      const written = changes.map(({ table, upserts, deletes }) => ({
        table,
        deletes,
        rows: upserts.map((row) => [keyOf(table, row), asStored(table, row)] as const),
      }));
      for (const { table, rows, deletes } of written) {
        const all = stored.of(table.name);
        for (const [key, row] of rows) all.set(key, row);
        for (const key of deletes) all.delete(textOf(key));
      }
      for (const { stream, reason } of parked)
        if (!stored.parked.has(stream)) stored.parked.set(stream, reason);
      if (erasure) this.noteErasure(erasure);
      stored.moveTo(position, eventId);
      return true;
    });
  }

  parkedStreams(): Promise<readonly string[]> {
    return this.line.read('rows', away, () => [...this.stored.parked.keys()]);
  }

  unfinishedErasure(): Promise<UnfinishedErasure | undefined> {
    return this.line.read('rows', away, () => this.stored.erasures[0]);
  }

  private noteErasure({ forgotten, next }: NonNullable<BatchToWrite['erasure']>): void {
    const { accountRef, erasureId } = forgotten;
    const { stored } = this;
    const index = stored.erasures.findIndex(
      ({ forgotten: known }) => known.accountRef === accountRef && known.erasureId === erasureId,
    );
    if (next === undefined) {
      if (index >= 0) stored.erasures.splice(index, 1);
    } else
      stored.erasures.splice(index < 0 ? stored.erasures.length : index, 1, { forgotten, next });
  }
}

/** What following stores, as one process reaches it. */
export function simulatedProjectionStores(
  models: SimulatedReadModels,
  line: Line,
  locks: Locks,
): ProjectionStores {
  return {
    locks,
    ensureGenerations: () => line.read('rows', away, () => undefined),
    checkpoints: (projectors) =>
      line.read('rows', away, () =>
        projectors.map(({ name }) => checkpointOf(models.liveOf(name))),
      ),
    recordLastError: (projection, generation, error) =>
      line.write('rows', away, () => {
        models.generation(projection, generation).lastError = error;
      }),
    rowsOf: ({ name }, generation) => new SimulatedRows(models.generation(name, generation), line),
    status: () => Promise.resolve([]),
  };
}

const checkpointOf = ({
  projector,
  generation,
  position,
  version,
  lastError,
}: SimulatedGeneration): Checkpoint => ({
  projection: projector.name,
  generation,
  position,
  version: String(version),
  lastError,
  updatedAt: 0,
});

/**
 * As a table keeps a row: every column, and JSON both ways.
 * @throws as Postgres does for a column that must not be empty.
 */
function asStored({ columns }: ReadModelTable, row: Row): Row {
  const kept: Record<string, unknown> = {};
  for (const [column, type] of Object.entries(columns)) {
    const value = row[column] ?? null;
    if (value === null && type.includes('not null')) throw notNull(column);
    kept[column] =
      typeof value === 'object' ? (JSON.parse(JSON.stringify(value)) as unknown) : value;
  }
  // What changed a row in place would change the table without a write.
  return frozen(kept);
}

function notNull(column: string): Error {
  const error = new pg.DatabaseError(`null value in column ${column}`, 0, 'error');
  error.code = '23502';
  return error;
}

const textOf = (key: readonly string[]): string => key.join('\u0000');

const keyOf = ({ primaryKey }: ReadModelTable, row: Row): string =>
  textOf(primaryKey.map((column) => String(row[column])));

function compareAlong(orderedBy: NonNullable<Lookup['orderedBy']>, a: Row, b: Row): number {
  for (const { column, descending } of orderedBy) {
    const [one, other] = [a[column], b[column]] as readonly (string | number)[];
    if (one === other) continue;
    return (one ?? 0) < (other ?? 0) === (descending ?? false) ? 1 : -1;
  }
  return 0;
}
