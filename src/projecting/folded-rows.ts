import type { LedgerEvent, Lookup, Projector, ReadModelTable, Row, RowKey, Rows } from './projector.js';

/** A table that is held whole. Indexes by one column are made when a lookup first asks for them. */
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

/** Told of each row that changes; a change that is taken back was told of, too. */
export type RowObserver = (table: string, key: readonly string[]) => void;

/**
 * All rows of a generation in memory, for folding a whole log: nothing has to be announced or loaded. What a batch leaves in the tables and
 * what this holds at the same position are the same rows (test/projections/bulk-equals-incremental.test.ts).
 */
export class FoldedRows implements Rows {
  private readonly tables: ReadonlyMap<string, FoldedTable>;
  /** The rows that the event in hand found or named, for `held`. */
  private inHand = new Map<string, Set<string>>();
  private undo: Undo[] = [];
  private count = 0;

  constructor(
    tables: readonly ReadModelTable[],
    private readonly observe?: RowObserver,
  ) {
    this.tables = new Map(tables.map((table) => [table.name, { table, rows: new Map(), indexes: new Map() }]));
  }

  /** Rows in all tables. */
  get size(): number {
    return this.count;
  }

  rowsOf(table: string): IterableIterator<Row> {
    return this.of(table).rows.values();
  }

  sizeOf(table: string): number {
    return this.of(table).rows.size;
  }

  get(table: string, key: readonly string[]): Row | undefined {
    return this.of(table).rows.get(textOf(key));
  }

  put(table: string, row: Row): void {
    const folded = this.of(table);
    this.change(folded, keyOf(folded.table, row), row);
  }

  delete(table: string, key: readonly string[]): void {
    this.change(this.of(table), key, undefined);
  }

  held(table: string): readonly Row[] {
    const { rows } = this.of(table);
    return [...(this.inHand.get(table) ?? [])].flatMap((key) => {
      const row = rows.get(key);
      return row ? [row] : [];
    });
  }

  /** Folds one event. If that throws, its changes are taken back and the error is returned. */
  attempt(projector: Projector, event: LedgerEvent): { readonly failed: unknown } | undefined {
    this.undo = [];
    this.inHand.clear();
    try {
      if (projector.looksUp?.has(event.event.type) ?? false) this.lookUp(projector, event);
      projector.apply(event, this);
      return undefined;
    } catch (failed) {
      for (const { folded, key, before } of this.undo.reverse()) this.set(folded, key, before);
      return { failed };
    }
  }

  /** In two rounds, as a batch does: what was found may name more. */
  private lookUp(projector: Projector, event: LedgerEvent): void {
    for (let round = 0; round < 2; round++) for (const lookup of projector.lookups?.(event, this) ?? []) this.find(lookup);
    this.take(projector.keys(event));
    this.take(projector.furtherKeys?.(event, this) ?? []);
  }

  private take(keys: readonly RowKey[]): void {
    for (const { table, key } of keys) this.handOf(table).add(textOf(key));
  }

  private find({ table, where }: Lookup): void {
    const folded = this.of(table);
    const [[column, values] = ['', []], ...others] = Object.entries(where);
    const index = this.indexOf(folded, column);
    for (const key of values.flatMap((value) => [...(index.get(value) ?? [])])) {
      const row = folded.rows.get(key);
      if (row && others.every(([name, wanted]) => wanted.includes(String(row[name])))) this.handOf(table).add(key);
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

  private handOf(table: string): Set<string> {
    const hand = this.inHand.get(table) ?? new Set();
    this.inHand.set(table, hand);
    return hand;
  }

  private change(folded: FoldedTable, key: readonly string[], row: Row | undefined): void {
    const text = textOf(key);
    this.undo.push({ folded, key: text, before: this.set(folded, text, row) });
    this.observe?.(folded.table.name, key);
  }

  /** @returns the row that was there. */
  private set({ rows, indexes }: FoldedTable, key: string, row: Row | undefined): Row | undefined {
    const before = rows.get(key);
    if (row) rows.set(key, row);
    else rows.delete(key);
    this.count += (row ? 1 : 0) - (before ? 1 : 0);
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

const keyOf = (table: ReadModelTable, row: Row): readonly string[] => table.primaryKey.map((column) => String(row[column]));

// NUL is in no text that Postgres holds, so it keeps the parts of a key apart.
const textOf = (key: readonly string[]): string => (key.length === 1 ? (key[0] ?? '') : key.join('\u0000'));
