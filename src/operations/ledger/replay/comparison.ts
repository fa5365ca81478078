import type { AccountRef, Scope } from '../../../domain/scope.js';
import { canonicalJson } from '../../../foundation/canonical-json.js';
import type { ProjectionFold } from '../../../projecting/generations/log-fold.js';
import type { Row } from '../../../projecting/projector.js';
import { PRESENCE, rowName, type Finding } from './difference.js';
import {
  accountOf,
  ownerOf,
  type Place,
  type ReadModelSnapshot,
  type RowOwner,
} from './live-rows.js';

/** The accounts of a replay, and what is known of them. */
export class ReplayedAccounts {
  /** Those whose rows are folded now. */
  readonly folded = new Set<AccountRef>();
  /** Those that were compared before. */
  readonly compared = new Set<AccountRef>();
  /** Those that cannot be compared: they changed since the selection, or lost a person. */
  readonly changed = new Set<AccountRef>();
  readonly ofPersons = new Map<string, AccountRef>();
  /** Rows that were compared, although their columns name other owners, tenants or modes. */
  readonly misplaced = new Set<string>();
  /** People whose keys are destroyed, while read models do not know it yet. */
  readonly forgotten = new Set<unknown>();

  has(account: AccountRef | undefined): boolean {
    return account !== undefined && (this.folded.has(account) || this.compared.has(account));
  }

  /** The next ones are folded after them. */
  areCompared(): void {
    for (const account of this.folded) this.compared.add(account);
    this.folded.clear();
  }
}

export interface ComparedWith {
  readonly snapshot: ReadModelSnapshot;
  readonly scope: Scope;
  readonly accounts: ReplayedAccounts;
  /** Every row of the scope is compared, those of several accounts too. */
  readonly isWhole: boolean;
  /** Accounts were folded in several parts, each in the order of the log. */
  readonly inParts: boolean;
  readonly giveWay?: (() => Promise<void>) | undefined;
}

/**
 * Compares folded rows with live ones and lets go of them; sums over accounts stay in the fold
 * until all accounts are folded.
 */
export async function* compareFold(
  fold: ProjectionFold,
  options: ComparedWith,
): AsyncGenerator<Finding> {
  const { projector, rows } = fold;
  for (const table of projector.tables) {
    const owner = ownerOf(table);
    if (owner === undefined && !options.isWhole) continue;
    const compared = new ComparedTable({ readModel: projector.name, table }, owner, options);
    for await (const live of compared.liveRows()) {
      for (const row of live) yield* compared.row(rows.take(table.name, row), row);
      await options.giveWay?.();
    }
    const left = [...rows.rowsOf(table.name)];
    yield* compared.withoutLiveRow(left);
    for (const row of left) rows.take(table.name, row);
  }
}

class ComparedTable {
  constructor(
    private readonly place: Place,
    private readonly owner: RowOwner | undefined,
    private readonly options: ComparedWith,
  ) {}

  liveRows(): AsyncIterable<readonly Row[]> {
    const { snapshot, scope, accounts, isWhole } = this.options;
    if (isWhole || this.owner === undefined) return snapshot.rowsOfScope(this.place, scope);
    const persons = [...accounts.ofPersons].flatMap(([person, account]) =>
      accounts.folded.has(account) ? [person] : [],
    );
    const names = this.owner.isPerson ? persons : [...accounts.folded];
    return snapshot.rowsOfOwners(this.place, this.owner, names);
  }

  /** The row of the ledger has this key; undefined: there is none. */
  row(ledger: Row | undefined, live: Row | undefined): Finding[] {
    const { accounts } = this.options;
    const row = ledger ?? live;
    if (!row) return [];
    const account = this.owner && accountOf(row, this.owner, accounts.ofPersons);
    const isOfEarlier =
      !ledger &&
      ((account !== undefined && accounts.compared.has(account)) ||
        accounts.misplaced.has(this.placeOf(row)));
    if (isOfEarlier || this.isUnsettled(account)) return [];
    const found = ledger && live ? this.columns(ledger, live) : [presence(ledger, live)];
    if (found.length === 0 || this.namesForgotten(ledger, live)) return [];
    const { readModel } = this.place;
    const isOfAccount = this.owner !== undefined;
    const name = this.nameOf(row);
    return found.map((values) => ({ account, isOfAccount, readModel, row: name, ...values }));
  }

  /** They are missing, or elsewhere: the column that says whose they are may differ. */
  async *withoutLiveRow(rows: readonly Row[]): AsyncGenerator<Finding> {
    const { snapshot, accounts } = this.options;
    const left = new Map(rows.map((row) => [this.nameOf(row), row]));
    for await (const live of snapshot.rowsLike(this.place, rows))
      for (const row of live) {
        accounts.misplaced.add(this.placeOf(row));
        yield* this.row(left.get(this.nameOf(row)), row);
        left.delete(this.nameOf(row));
      }
    for (const row of left.values()) yield* this.row(row, undefined);
  }

  private nameOf(row: Row): string {
    const { name, primaryKey } = this.place.table;
    // Sums are within the tenant and mode that are replayed.
    const key = this.owner ? primaryKey : primaryKey.filter((column) => !SCOPE.has(column));
    return rowName(
      name,
      key.map((column) => String(row[column])),
    );
  }

  private placeOf(row: Row): string {
    return `${this.place.readModel} ${this.nameOf(row)}`;
  }

  /** Sums have settled when all of their accounts have. */
  private isUnsettled(account: AccountRef | undefined): boolean {
    const { changed } = this.options.accounts;
    if (this.owner === undefined) return changed.size > 0;
    return account !== undefined && changed.has(account);
  }

  private namesForgotten(...rows: readonly (Row | undefined)[]): boolean {
    const { forgotten } = this.options.accounts;
    return forgotten.size > 0 && rows.some((row) => isAnyIn(forgotten, Object.values(row ?? {})));
  }

  private columns(ledger: Row, live: Row): readonly Values[] {
    return Object.keys(this.place.table.columns)
      .filter((column) => !this.isSame(ledger[column], live[column]))
      .map((column) => ({ column, ledger: ledger[column] ?? null, live: live[column] ?? null }));
  }

  private isSame(ledger: unknown, live: unknown): boolean {
    if (ledger === live || canonicalJson(ledger) === canonicalJson(live)) return true;
    // Of several spellings of a unit a sum shows the first one in the log.
    const { inParts } = this.options;
    const spelledAlike = (one: unknown, other: unknown): boolean =>
      typeof one === 'string' &&
      typeof other === 'string' &&
      one.toLowerCase() === other.toLowerCase();
    return this.owner === undefined && inParts && spelledAlike(ledger, live);
  }
}

const SCOPE: ReadonlySet<string> = new Set(['tenant', 'mode']);

const isAnyIn = (wanted: ReadonlySet<unknown>, values: readonly unknown[]): boolean =>
  values.some((value) => wanted.has(value));

type Values = Pick<Finding, 'column' | 'ledger' | 'live'>;

const presence = (ledger: Row | undefined, live: Row | undefined): Values => ({
  ledger: ledger ? PRESENCE.present : PRESENCE.missing,
  live: live ? PRESENCE.present : PRESENCE.missing,
});
