import type { AccountEvent } from '../domain/account/account.events.js';
import type { Mode } from '../domain/scope.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';

/**
 * A decoded event as projectors and policies see it: the fact, whose it is, and where it stands.
 */
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

/**
 * Turns stored events into facts, in order; one result per event. Made by the codec and the key
 * store (src/privacy).
 */
export type DecodeEvents = (
  recorded: readonly RecordedEvent[],
) => Promise<readonly (LedgerEvent | UndecodableEvent)[]>;

/** A table of a read model. The runner makes it in the schema of each generation. */
export interface ReadModelTable {
  readonly name: string;
  /** Column → SQL type, e.g. `text not null`. Every column is written on every change. */
  readonly columns: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  /**
   * Index definitions behind `on <table>`, by suffix: `{ by_account: '(account_ref, date_given
   * desc)' }`; may start with `using …` and end with `where …`.
   */
  readonly indexes: Readonly<
    Record<string, { readonly definition: string; readonly unique?: boolean }>
  >;
}

export type Row = Readonly<Record<string, unknown>>;

/**
 * The rows that a batch touches, held in memory: the runner loads them before and writes what
 * changed after.
 */
export interface Rows {
  /** The rows that the lookups of the piece in hand found and that are still there. */
  found(table: string): readonly Row[];
  /**
   * A loaded or already changed row; undefined when there is none. The key must have been announced
   * by `keys`.
   */
  get(table: string, key: readonly string[]): Row | undefined;
  put(table: string, row: Row): void;
  delete(table: string, key: readonly string[]): void;
}

export interface RowKey {
  readonly table: string;
  /** Values of the primary key, in its order. */
  readonly key: readonly string[];
}

/**
 * Rows that are found otherwise than by their key: those that have one of the values in every named
 * column. An index must serve it.
 */
export interface Lookup {
  readonly table: string;
  readonly where: Readonly<Record<string, readonly string[]>>;
  /**
   * The columns by which that index goes on: a piece begins behind the last row of the piece
   * before. Left out where a row that was cleaned is not found again.
   */
  readonly along?: readonly IndexColumn[];
}

export interface IndexColumn {
  readonly column: string;
  readonly descending?: boolean;
}

/** Whom an erasure forgets: both of its events say it. */
export interface Forgotten {
  readonly erasureId: string;
  readonly tenant: string;
  readonly mode: Mode;
  readonly accountRef: string;
  readonly persons: ReadonlySet<string>;
}

/** One of the two events of an erasure. */
export interface Erasure extends Forgotten {
  /** Only the request deletes the account: when the tombstone arrives, it may be open anew. */
  readonly deletesAccount: boolean;
}

/**
 * How a read model forgets people. Rows about them are found by their contents, a bounded piece of
 * them at a time, so that nobody else's events wait for somebody with very many. Until the last
 * piece is cleaned, queries leave these people out (`LiveReads`).
 */
export interface Forgetting {
  /**
   * Rows that the erasure names by their keys. They are cleaned with its event, before the first
   * piece.
   */
  readonly atOnce?: {
    keys(erasure: Erasure): readonly RowKey[];
    clean(erasure: Erasure, rows: Rows): void;
  };
  lookups(forgotten: Forgotten): readonly Lookup[];
  /**
   * Rows that can be found only through those that `lookups` found, and may be any number for each
   * of them.
   */
  dependents?(forgotten: Forgotten, rows: Pick<Rows, 'found'>): readonly Lookup[];
  /** Further rows that `clean` reads or writes. */
  keys?(forgotten: Forgotten, rows: Pick<Rows, 'found'>): readonly RowKey[];
  /**
   * Cleans what was found; what is clean already stays as it is.
   * @param piece not whole: there are more dependents than were found. The rows they depend on are
   * found again, and must stay until then.
   */
  clean(forgotten: Forgotten, rows: Rows, piece: { readonly isWhole: boolean }): void;
}

/**
 * A projector turns events into rows. It is pure: everything it knows comes from the events and the
 * rows it announced, so it can be run again from the first event at any time, beside the live one.
 * `defineProjector` makes it of a table.
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
   * Further rows that only a loaded row can name, asked once the rows of `keys` are there. A row
   * that an earlier event of the same batch makes is not there yet: that event's own `keys` must
   * name what its followers will need.
   */
  furtherKeys(event: LedgerEvent, rows: Pick<Rows, 'get'>): readonly RowKey[];
  /** Asked at the events of an erasure, behind `apply`. Each of them ends a batch before it. */
  readonly forgetting: Forgetting;
  /**
   * Folds one event into the rows. Throws only when the event contradicts the rows: its account is
   * parked then.
   */
  apply(event: LedgerEvent, rows: Rows): void;
}

/**
 * The two events of an erasure clean every read model. The request does so at once; the tombstone
 * does it again, for what was decided meanwhile by somebody who had not heard of it. Behind the
 * tombstone nothing can be read any more.
 */
export const ERASURES = [
  'ErasureRequested',
  'ErasureCompleted',
] as const satisfies readonly AccountEvent['type'][];

/** What an event forgets; undefined: it is none of an erasure. */
export function forgottenBy({ event, tenant, mode, accountRef }: LedgerEvent): Erasure | undefined {
  if (event.type !== 'ErasureRequested' && event.type !== 'ErasureCompleted') return undefined;
  const { type, erasureId, persons, account } = event;
  const deletesAccount = type === 'ErasureRequested' && account !== null;
  return { erasureId, tenant, mode, accountRef, persons: new Set(persons), deletesAccount };
}
