import {
  forgottenBy,
  type Forgotten,
  type LedgerEvent,
  type Lookup,
  type Projector,
  type ReadModelTable,
  type Row,
  type Rows,
} from '../projector.js';
import { keyText } from '../batch-rows.js';

/** Indexes by one column are created when a lookup first needs them. */
interface FoldedTable {
  readonly table: ReadModelTable;
  readonly rows: Map<string, Row>;
  readonly indexes: Map<string, Map<unknown, Set<string>>>;
}

interface Undo {
  readonly folded: FoldedTable;
  readonly key: string;
  readonly before: Row | undefined;
}

/** Called for each changed row, also for changes that are rolled back. */
export type RowObserver = (table: string, key: readonly string[]) => void;

/**
 * All rows of a generation in memory, for folding a whole log without announcing and loading. At
 * the same position they equal the stored rows of batches
 * (test/projections/rebuild-equals-incremental.test.ts).
 */
export class FoldedRows implements Rows {
  private readonly tables: ReadonlyMap<string, FoldedTable>;
  /** Rows found by the lookups of the current event. */
  private foundKeys = new Map<string, Set<string>>();
  private undo: Undo[] = [];

  constructor(
    tables: readonly ReadModelTable[],
    private readonly observe?: RowObserver,
  ) {
    this.tables = new Map(
      tables.map((table) => [table.name, { table, rows: new Map(), indexes: new Map() }]),
    );
  }

  rowsOf(table: string): IterableIterator<Row> {
    return this.of(table).rows.values();
  }

  /** Removes and returns the row with the key of this one. */
  take(table: string, row: Row): Row | undefined {
    const folded = this.of(table);
    return this.set(folded, keyText(keyOf(folded.table, row)), undefined);
  }

  get(table: string, key: readonly string[]): Row | undefined {
    return this.of(table).rows.get(keyText(key));
  }

  put(table: string, row: Row): void {
    const folded = this.of(table);
    this.change(folded, keyOf(folded.table, row), row);
  }

  delete(table: string, key: readonly string[]): void {
    this.change(this.of(table), key, undefined);
  }

  found(table: string): readonly Row[] {
    const { rows } = this.of(table);
    return [...(this.foundKeys.get(table) ?? [])]
      .map((key) => rows.get(key))
      .filter((row) => row !== undefined);
  }

  /** Folds one event. If that throws, its changes are rolled back and the error is returned. */
  attempt(projector: Projector, event: LedgerEvent): { readonly failed: unknown } | undefined {
    this.undo = [];
    this.foundKeys.clear();
    try {
      projector.apply(event, this);
      const forgotten = forgottenBy(event);
      if (forgotten) this.forget(projector, forgotten);
      return undefined;
    } catch (failed) {
      for (const { folded, key, before } of this.undo.reverse()) this.set(folded, key, before);
      return { failed };
    }
  }

  /** All rows in one piece: they are in memory. */
  private forget({ forgetting }: Projector, forgotten: Forgotten): void {
    for (const lookup of forgetting.lookups(forgotten)) this.find(lookup);
    for (const lookup of forgetting.dependents?.(forgotten, this) ?? []) this.find(lookup);
    forgetting.clean(forgotten, this, { isWhole: true });
  }

  private find({ table, where }: Lookup): void {
    const folded = this.of(table);
    const [[column, values] = ['', []], ...more] = Object.entries(where);
    const others = more.map(([name, wanted]) => [name, new Set(wanted)] as const);
    const index = this.indexOf(folded, column);
    const found = this.foundKeys.get(table) ?? new Set();
    this.foundKeys.set(table, found);
    for (const key of values.flatMap((value) => [...(index.get(value) ?? [])])) {
      const row = folded.rows.get(key);
      if (row && others.every(([name, wanted]) => wanted.has(String(row[name])))) found.add(key);
    }
  }

  private indexOf(folded: FoldedTable, column: string): Map<unknown, Set<string>> {
    const known = folded.indexes.get(column);
    if (known) return known;
    const index = new Map<unknown, Set<string>>();
    for (const [key, row] of folded.rows) enter(index, row[column], key);
    folded.indexes.set(column, index);
    return index;
  }

  private change(folded: FoldedTable, key: readonly string[], row: Row | undefined): void {
    const text = keyText(key);
    this.undo.push({ folded, key: text, before: this.set(folded, text, row) });
    this.observe?.(folded.table.name, key);
  }

  /** @returns the previous row. */
  private set({ rows, indexes }: FoldedTable, key: string, row: Row | undefined): Row | undefined {
    const before = rows.get(key);
    if (row) rows.set(key, row);
    else rows.delete(key);
    for (const [column, index] of indexes) {
      if (before?.[column] === row?.[column]) continue;
      if (before) index.get(before[column])?.delete(key);
      if (row) enter(index, row[column], key);
    }
    return before;
  }

  private of(table: string): FoldedTable {
    const folded = this.tables.get(table);
    if (!folded) throw new Error(`there is no table ${table}`);
    return folded;
  }
}

function enter(index: Map<unknown, Set<string>>, value: unknown, key: string): void {
  const keys = index.get(value);
  if (keys) keys.add(key);
  else index.set(value, new Set([key]));
}

const keyOf = (table: ReadModelTable, row: Row): readonly string[] =>
  table.primaryKey.map((column) => String(row[column]));
