import type { AccountEvent } from '../domain/account/account.events.js';
import type { Mode } from '../domain/scope.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';

/** A decoded event as projectors and policies see it: the fact, whose it is, and where it stands. */
export interface LedgerEvent<E = AccountEvent> {
  readonly event: E;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly recordedAt: number;
  readonly tenant: string;
  readonly mode: Mode;
  /** The keyed hash that names the account's stream; rows are keyed with it. */
  readonly accountRef: string;
  readonly correlationId: string;
  readonly commandId: string;
}

/** An event that could not be decoded: unknown type, newer schema version, broken bytes. */
export interface UndecodableEvent {
  readonly undecodable: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
}

/** Turns stored events into facts, in order; one result per event. Made by the codec and the key store (src/privacy). */
export type DecodeEvents = (recorded: readonly RecordedEvent[]) => Promise<readonly (LedgerEvent | UndecodableEvent)[]>;

/** A table of a read model. The runner makes it in the schema of each generation. */
export interface ReadModelTable {
  readonly name: string;
  /** Column → SQL type, e.g. `text not null`. Every column is written on every change. */
  readonly columns: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  /** Index definitions behind `on <table>`, by suffix: `{ by_account: '(account_ref, date_given desc)' }`; may start with `using …` and end with `where …`. */
  readonly indexes: Readonly<Record<string, { readonly definition: string; readonly unique?: boolean }>>;
}

export type Row = Readonly<Record<string, unknown>>;

/** The rows that a batch touches, held in memory: the runner loads them before and writes what changed after. */
export interface Rows {
  /** All rows of a table that are in memory, those that `lookups` found among them. */
  held(table: string): readonly Row[];
  /** A loaded or already changed row; undefined when there is none. The key must have been announced by `keys`. */
  get(table: string, key: readonly string[]): Row | undefined;
  put(table: string, row: Row): void;
  delete(table: string, key: readonly string[]): void;
}

export interface RowKey {
  readonly table: string;
  /** Values of the primary key, in its order. */
  readonly key: readonly string[];
}

/** Rows that are found otherwise than by their key: those that have one of the values in every named column. An index must serve it. */
export interface Lookup {
  readonly table: string;
  readonly where: Readonly<Record<string, readonly string[]>>;
}

/**
 * A projector turns events into rows. It is pure: everything it knows comes from the events and the rows it announced,
 * so it can be run again from the first event at any time, beside the live one.
 */
export interface Projector {
  /** As the operator names it: `rewards`. */
  readonly name: string;
  readonly tables: readonly ReadModelTable[];
  /** The types it looks at; others only move its checkpoint. */
  readonly handles: ReadonlySet<AccountEvent['type']>;
  /** The rows that `apply` will read or write for this event. */
  keys(event: LedgerEvent): readonly RowKey[];
  /**
   * Further rows that only a loaded row can name, asked once the rows of `keys` are there. A row that an earlier event of the same
   * batch makes is not there yet: that event's own `keys` must name what its followers will need.
   */
  furtherKeys?(event: LedgerEvent, rows: Pick<Rows, 'get' | 'held'>): readonly RowKey[];
  /** The types of which `lookups` is asked. Each ends a batch before it, so such events must be rare. */
  readonly looksUp?: ReadonlySet<AccountEvent['type']>;
  /** Rows that only their contents can name, before `keys` are loaded. Asked once more with what was found. */
  lookups?(event: LedgerEvent, rows: Pick<Rows, 'held'>): readonly Lookup[];
  /** Folds one event into the rows. Throws only when the event contradicts the rows: its account is parked then. */
  apply(event: LedgerEvent, rows: Rows): void;
}
