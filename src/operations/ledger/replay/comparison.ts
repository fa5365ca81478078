import type { AccountRef, Scope } from '../../../domain/scope.js';
import { canonicalJson } from '../../../foundation/canonical-json.js';
import type { ProjectionFold } from '../../../projecting/generations/log-fold.js';
import type { Row } from '../../../projecting/projector.js';
import { accountOf, ownerOf, type Place, type ReadModelSnapshot } from './live-rows.js';

/** A value that differs between a read model and the ledger. */
export interface Difference {
  /** The client's id; `anonymous` when it is forgotten, `all` for rows that no account has. */
  readonly account: string;
  readonly readModel: string;
  /** `<table>/<key>.<column>`; without a column: the row as a whole. */
  readonly field: string;
  readonly ledger: unknown;
  readonly live: unknown;
  /** The events that the ledger's value follows from. */
  readonly eventIds: readonly string[];
}

/** Compares folded rows with the live ones of a snapshot, and removes them from the fold. */
export class Comparison {
  /** The accounts whose rows are in the folds, with the client's ids. */
  readonly folded = new Map<AccountRef, string>();
  /** Those that were compared before. */
  readonly compared = new Set<AccountRef>();
  /** Those that cannot be compared: they changed since the selection, or lost a person. */
  readonly changed = new Set<AccountRef>();
  /** People whose keys are destroyed, while read models do not know it yet. */
  readonly forgotten = new Set<unknown>();
  private readonly ofPersons = new Map<string, AccountRef>();
  /** Those of the folded accounts. */
  private readonly persons = new Set<string>();
  /** The events that wrote the rows of the folded accounts. */
  private readonly eventIds = new Map<string, Set<string>>();
  /** Rows that were compared, although their columns name other owners, tenants or modes. */
  private readonly misplaced = new Set<string>();

  constructor(
    private readonly snapshot: ReadModelSnapshot,
    private readonly scope: Scope,
    private readonly pauseForRequests: (() => Promise<void>) | undefined,
  ) {}

  identified(person: string, account: AccountRef): void {
    this.ofPersons.set(person, account);
    this.persons.add(person);
  }

  wrote(readModel: string, row: string, eventId: string): void {
    const name = `${readModel} ${row}`;
    this.eventIds.set(name, (this.eventIds.get(name) ?? new Set()).add(eventId));
  }

  /** The next accounts are folded after these. */
  areCompared(): void {
    for (const account of this.folded.keys()) this.compared.add(account);
    this.folded.clear();
    this.persons.clear();
    this.eventIds.clear();
  }

  /**
   * @param of `accounts`: rows of the folded accounts. `rest` (called last): all other rows, which
   * belong to several accounts or to none.
   */
  async *differences(
    { projector, rows }: ProjectionFold,
    of: 'accounts' | 'rest',
  ): AsyncGenerator<Difference> {
    for (const table of projector.tables) {
      if (of === 'accounts' && ownerOf(table) === undefined) continue;
      const place = { readModel: projector.name, table };
      for await (const some of this.liveRows(place, of)) {
        for (const live of some) yield* this.row(place, rows.take(table.name, live), live);
        await this.pauseForRequests?.();
      }
      const left = new Map([...rows.rowsOf(table.name)].map((row) => [nameOf(place, row), row]));
      for (const row of left.values()) rows.take(table.name, row);
      // The column that says whose they are may differ.
      for await (const some of this.snapshot.rowsLike(place, [...left.values()]))
        for (const live of some) {
          const name = nameOf(place, live);
          this.misplaced.add(`${place.readModel} ${name}`);
          yield* this.row(place, left.get(name), live);
          left.delete(name);
        }
      for (const row of left.values()) yield* this.row(place, row, undefined);
    }
  }

  private liveRows(place: Place, of: 'accounts' | 'rest'): AsyncIterable<readonly Row[]> {
    const owner = ownerOf(place.table);
    if (of === 'rest' || owner === undefined) return this.snapshot.rowsOfScope(place, this.scope);
    const names = owner.isPerson ? this.persons : this.folded.keys();
    return this.snapshot.rowsOfOwners(place, owner, [...names]);
  }

  private row(place: Place, ledger: Row | undefined, live: Row | undefined): Difference[] {
    const { folded, compared, changed, forgotten } = this;
    const { readModel, table } = place;
    const row = ledger ?? live;
    if (!row) return [];
    const name = nameOf(place, row);
    const key = `${readModel} ${name}`;
    const owner = ownerOf(table);
    const account = (owner && accountOf(row, owner, this.ofPersons)) ?? '';
    if (!ledger && (compared.has(account) || this.misplaced.has(key))) return [];
    // A sum can be compared only when none of its accounts changed.
    if (owner ? changed.has(account) : changed.size > 0) return [];
    const values = [...Object.values(ledger ?? {}), ...Object.values(live ?? {})];
    if (values.some((value) => forgotten.has(value))) return [];
    const difference = (field: string, ofLedger: unknown, ofLive: unknown): Difference => ({
      account: owner ? (folded.get(account) ?? 'unknown') : 'all',
      readModel,
      field,
      ledger: ofLedger,
      live: ofLive,
      eventIds: [...(this.eventIds.get(key) ?? [])],
    });
    if (!ledger || !live) return [difference(name, ...presenceOf(ledger !== undefined))];
    return Object.keys(table.columns)
      .map((column) => [column, ledger[column] ?? null, live[column] ?? null] as const)
      .filter(([column, a, b]) => !isSame(a, b, owner === undefined && column === 'unit'))
      .map(([column, a, b]) => difference(`${name}.${column}`, a, b));
  }
}

/** Of a row, or an event, that one side lacks. */
export const presenceOf = (isInLedger: boolean): readonly [ledger: string, live: string] =>
  isInLedger ? ['present', 'missing'] : ['missing', 'present'];

/**
 * @param isSpelled compares without case: a sum over several spellings of a unit shows the one that
 * was folded first.
 */
const isSame = (ledger: unknown, live: unknown, isSpelled: boolean): boolean =>
  canonicalJson(ledger) === canonicalJson(live) ||
  (isSpelled && String(ledger).toLowerCase() === String(live).toLowerCase());

export const rowName = (table: string, key: readonly string[]): string => [table, ...key].join('/');

/** Sums are within the tenant and mode that are replayed. */
function nameOf({ table }: Place, row: Row): string {
  const { name, primaryKey } = table;
  const isNamed = (column: string): boolean => column !== 'tenant' && column !== 'mode';
  const key = ownerOf(table) ? primaryKey : primaryKey.filter(isNamed);
  return rowName(
    name,
    key.map((column) => String(row[column])),
  );
}
