import type { TableChanges } from '../../../src/projecting/batch-rows.js';
import { BatchRows } from '../../../src/projecting/batch-rows.js';
import {
  FIRST_PIECE,
  findPiece,
  type FindRows,
} from '../../../src/projecting/following/erasure-pieces.js';
import type { NextPiece } from '../../../src/projecting/generations/generation-store.js';
import {
  forgottenBy,
  type LedgerEvent,
  type Lookup,
  type Projector,
  type Row,
  type RowKey,
} from '../../../src/projecting/projector.js';

/** Rows by table, those of each in the order of their keys. */
export type RowsOfTables = Readonly<Record<string, readonly Row[]>>;

/**
 * A generation without a database that keeps the rules of the one that has it: only announced rows
 * are there, and an erasure begins a batch and is cleaned a piece at a time.
 */
export class InMemoryGeneration {
  private readonly tables: ReadonlyMap<string, Map<string, Row>>;

  /** @param pieceRowsMax rows about forgotten people that are found and cleaned together. */
  constructor(
    private readonly projector: Projector,
    private readonly pieceRowsMax: number,
  ) {
    this.tables = new Map(projector.tables.map(({ name }) => [name, new Map()]));
  }

  /**
   * Applies a batch, which an erasure begins. @throws the projector's error, with nothing written.
   */
  async apply(events: readonly LedgerEvent[]): Promise<void> {
    const { forgetting } = this.projector;
    const [first] = events;
    const forgotten = first && forgottenBy(first);
    const rows = new BatchRows(this.projector.tables);
    const find = (batch: BatchRows, begin: NextPiece) =>
      forgotten &&
      findPiece(this.find, batch, { forgetting, forgotten, begin, rowsMax: this.pieceRowsMax });
    let piece = await find(rows, FIRST_PIECE);
    this.load(
      rows,
      events.flatMap((event) => this.projector.keys(event)),
    );
    this.load(
      rows,
      events.flatMap((event) => this.projector.furtherKeys(event, rows)),
    );
    for (const event of events) {
      this.projector.apply(event, rows);
      if (forgotten && piece && event === first) forgetting.clean(forgotten, rows, piece);
    }
    this.write(rows.changes());
    while (forgotten && piece?.next) {
      const left = new BatchRows(this.projector.tables);
      const begin = piece.next;
      piece = await find(left, begin);
      this.load(left, []);
      if (piece) forgetting.clean(forgotten, left, piece);
      const changes = left.changes();
      if (changes.length === 0 && JSON.stringify(piece?.next) === JSON.stringify(begin))
        throw new Error('an erasure does not end: a piece changes nothing and comes again');
      this.write(changes);
    }
  }

  rows(): RowsOfTables {
    return rowsInOrder(this.projector, (table) => this.of(table).values());
  }

  private load(batch: BatchRows, keys: readonly RowKey[]): void {
    for (const key of keys) batch.announce(key);
    for (const [table, announced] of batch.takeAnnounced()) {
      for (const key of announced) {
        const row = this.of(table).get(textOf(key));
        if (row) batch.loaded(table, row);
      }
    }
  }

  private readonly find: FindRows = async ({ table, where, orderedBy = [] }, limit, after) => {
    const behind =
      after && Object.fromEntries(orderedBy.map(({ column }, place) => [column, after[place]]));
    return [...this.of(table).values()]
      .filter((row) =>
        Object.entries(where).every(([column, wanted]) => wanted.includes(String(row[column]))),
      )
      .filter((row) => !behind || compareAlong(orderedBy, row, behind) > 0)
      .sort((a, b) => compareAlong(orderedBy, a, b))
      .slice(0, limit);
  };

  private write(changes: readonly TableChanges[]): void {
    for (const { table, upserts, deletes } of changes) {
      const rows = this.of(table.name);
      for (const row of upserts) rows.set(textOf(keyOf(table.primaryKey, row)), row);
      for (const key of deletes) rows.delete(textOf(key));
    }
  }

  private of(table: string): Map<string, Row> {
    const rows = this.tables.get(table);
    if (!rows) throw new Error(`there is no table ${table}`);
    return rows;
  }
}

export function rowsInOrder(
  { tables }: Projector,
  rowsOf: (table: string) => Iterable<Row>,
): RowsOfTables {
  return Object.fromEntries(
    tables.map(({ name, primaryKey }) => {
      const textOfRow = (row: Row): string => textOf(keyOf(primaryKey, row));
      return [name, [...rowsOf(name)].sort((a, b) => compare(textOfRow(a), textOfRow(b)))];
    }),
  );
}

const keyOf = (primaryKey: readonly string[], row: Row): string[] =>
  primaryKey.map((column) => String(row[column]));

const textOf = (key: readonly string[]): string => key.join('\u0000');

function compareAlong(orderedBy: NonNullable<Lookup['orderedBy']>, a: Row, b: Row): number {
  for (const { column, descending } of orderedBy) {
    const order = compare(a[column] as string | number, b[column] as string | number);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
