import { DamagedRow, damageCheck } from './damaged-rows.js';
import type { ReadModelTable, Row, RowKey, Rows } from './projector.js';

/** The writes of a batch in one table. Keys are in the order of the primary key. */
export interface TableChanges {
  readonly table: ReadModelTable;
  readonly upserts: readonly Row[];
  readonly deletes: readonly (readonly string[])[];
}

/** Changed in place: a batch touches thousands of them. */
interface Entry {
  readonly key: readonly string[];
  row: Row | undefined;
  /** The table has a row under this key. */
  stored: boolean;
  changed: boolean;
  /** A column whose stored value no projector writes. */
  damaged: string | undefined;
}

interface LoadedTable {
  readonly table: ReadModelTable;
  readonly entries: Entries;
  readonly damagedColumn: (row: Row) => string | undefined;
}

type Entries = Map<string, Entry>;

/** Postgres texts contain no NUL, so it separates the parts of a key. */
export const keyText = (key: readonly string[]): string =>
  key.length === 1 ? (key[0] ?? '') : key.join('\u0000');

/** The rows of one batch in memory. */
export class BatchRows implements Rows {
  private readonly tables: ReadonlyMap<string, LoadedTable>;
  private readonly foundKeys = new Map<string, Set<string>>();
  private readonly toLoad = new Map<string, (readonly string[])[]>();
  private undo: (() => void)[] = [];
  private refusesDamage = false;

  constructor(tables: readonly ReadModelTable[]) {
    this.tables = new Map(
      tables.map((table) => [
        table.name,
        { table, entries: new Map(), damagedColumn: damageCheck(table) },
      ]),
    );
  }

  announce({ table, key }: RowKey): void {
    const entries = this.entriesOf(table);
    const text = keyText(key);
    if (entries.has(text)) return;
    entries.set(text, { key, row: undefined, stored: false, changed: false, damaged: undefined });
    const waiting = this.toLoad.get(table);
    if (waiting) waiting.push(key);
    else this.toLoad.set(table, [key]);
  }

  /** Keys announced since the last call, by table. */
  takeAnnounced(): ReadonlyMap<string, readonly (readonly string[])[]> {
    const announced = new Map(this.toLoad);
    this.toLoad.clear();
    return announced;
  }

  loaded(table: string, row: Row): void {
    const entry = this.entry(table, this.keyOf(table, row));
    entry.row = row;
    entry.stored = true;
    entry.damaged = this.tables.get(table)?.damagedColumn(row);
  }

  /** Adds a row that a lookup found; its key was not announced. */
  wasFound(table: string, row: Row): void {
    const key = this.keyOf(table, row);
    const entries = this.entriesOf(table);
    if (!entries.has(keyText(key)))
      entries.set(keyText(key), { key, row, stored: true, changed: false, damaged: undefined });
    const keys = this.foundKeys.get(table) ?? new Set();
    this.foundKeys.set(table, keys.add(keyText(key)));
  }

  found(table: string): readonly Row[] {
    const entries = this.entriesOf(table);
    return [...(this.foundKeys.get(table) ?? [])]
      .map((key) => entries.get(key)?.row)
      .filter((row) => row !== undefined);
  }

  get(table: string, key: readonly string[]): Row | undefined {
    const { row, damaged } = this.entry(table, key);
    if (this.refusesDamage && damaged !== undefined) throw new DamagedRow(table, damaged);
    return row;
  }

  put(table: string, row: Row): void {
    this.change(table, this.keyOf(table, row), row);
  }

  delete(table: string, key: readonly string[]): void {
    this.change(table, key, undefined);
  }

  /**
   * Folds one event. If that throws, its changes are rolled back and the error is returned.
   * @param allowsDamage an erasure also cleans damaged rows; other events fail on them.
   */
  attempt(
    fold: () => void,
    { allowsDamage }: { readonly allowsDamage: boolean } = { allowsDamage: false },
  ): { readonly failed: unknown } | undefined {
    this.undo = [];
    this.refusesDamage = !allowsDamage;
    try {
      fold();
      return undefined;
    } catch (failed) {
      for (const step of this.undo.reverse()) step();
      return { failed };
    } finally {
      this.refusesDamage = false;
    }
  }

  changes(): TableChanges[] {
    return [...this.tables.values()]
      .map(({ table, entries }) => {
        const changed = [...entries.values()].filter((entry) => entry.changed);
        const upserts = changed.flatMap(({ row }) => (row ? [row] : []));
        const deletes = changed.filter(({ row, stored }) => !row && stored).map(({ key }) => key);
        return { table, upserts, deletes };
      })
      .filter(({ upserts, deletes }) => upserts.length > 0 || deletes.length > 0);
  }

  private change(table: string, key: readonly string[], row: Row | undefined): void {
    const entry = this.entry(table, key);
    const before = { row: entry.row, changed: entry.changed, damaged: entry.damaged };
    this.undo.push(() => Object.assign(entry, before));
    entry.row = row;
    entry.changed = true;
    entry.damaged = undefined;
  }

  private entry(table: string, key: readonly string[]): Entry {
    const entry = this.entriesOf(table).get(keyText(key));
    if (!entry) throw new Error(`a row of ${table} was not announced`);
    return entry;
  }

  private entriesOf(table: string): Entries {
    const known = this.tables.get(table);
    if (!known) throw new Error(`there is no table ${table}`);
    return known.entries;
  }

  private keyOf(table: string, row: Row): readonly string[] {
    const known = this.tables.get(table);
    return (known?.table.primaryKey ?? []).map((column) => String(row[column]));
  }
}
