import type { AccountEvent } from '../domain/account/account.events.js';
import type { ExportEvent } from '../domain/export/export.decider.js';
import type { OperationEvent } from '../domain/operation/operation.decider.js';
import type { LedgerMode } from '../domain/scope.js';
import type { Actor } from '../event-log/envelope.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';

/** The events that read models are made of. */
export type ProjectedEvent = AccountEvent | ExportEvent | OperationEvent;

/** A decoded event for projectors and policies, with its account, scope and position. */
export interface LedgerEvent<E = ProjectedEvent> {
  readonly event: E;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly recordedAt: number;
  readonly tenant: string;
  readonly mode: LedgerMode;
  /**
   * The keyed hash that names the account's stream; rows are keyed with it. Empty: of another kind
   * of stream.
   */
  readonly accountRef: string;
  readonly actor: Actor;
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
 * Decodes stored events, in order; one result per event. Made from the codec and the key store
 * (src/privacy).
 */
export type DecodeEvents = (
  recorded: readonly RecordedEvent[],
) => Promise<readonly (LedgerEvent | UndecodableEvent)[]>;

/** A table of a read model. The runner creates it in the schema of each generation. */
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
  /**
   * Column → whether a stored value is one that its projector writes; default for `jsonb`: an
   * object.
   */
  readonly checks?: Readonly<Record<string, ValueCheck>> | undefined;
}

export type ValueCheck = (value: unknown) => boolean;

export type Row = Readonly<Record<string, unknown>>;

/**
 * The rows that a batch touches, in memory: the runner loads them before and writes the changed
 * ones after.
 */
export interface Rows {
  /** The rows of the current piece's lookups that still exist. */
  found(table: string): readonly Row[];
  /**
   * A loaded or already changed row; undefined: none. The key must have been announced by `keys`.
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
 * Finds rows by other columns than their key: those with one of the values in every named column.
 * An index must support it.
 */
export interface Lookup {
  readonly table: string;
  readonly where: Readonly<Record<string, readonly string[]>>;
  /**
   * The ordering columns of that index: a piece begins after the last row of the previous piece.
   * Absent where a cleaned row no longer matches.
   */
  readonly along?: readonly IndexColumn[];
}

export interface IndexColumn {
  readonly column: string;
  readonly descending?: boolean;
}

/** The people of an erasure: both of its events name them. */
export interface Forgotten {
  readonly erasureId: string;
  readonly tenant: string;
  readonly mode: LedgerMode;
  readonly accountRef: string;
  readonly persons: ReadonlySet<string>;
}

/** One of the two events of an erasure. */
export interface Erasure extends Forgotten {
  /** Of the event, epoch milliseconds. */
  readonly at: number;
  /** Only the request deletes the account: at the completion it may be open again. */
  readonly deletesAccount: boolean;
}

/**
 * The cleaning of a read model after an erasure. Rows are found by their contents, in pieces of
 * limited size, so that other events do not wait for a person with very many rows. Until the last
 * piece is cleaned, queries exclude these people (`LiveReads`).
 */
export interface Forgetting {
  /**
   * Rows that the erasure names by their keys. They are cleaned with its event, before the first
   * piece.
   */
  readonly atOnce?: {
    keys(erasure: Erasure): readonly RowKey[];
    /** Further rows that only a loaded row can name. */
    furtherKeys?(erasure: Erasure, rows: Pick<Rows, 'get'>): readonly RowKey[];
    clean(erasure: Erasure, rows: Rows): void;
  };
  lookups(forgotten: Forgotten): readonly Lookup[];
  /** Rows that only the rows of `lookups` lead to; any number for each of them. */
  dependents?(forgotten: Forgotten, rows: Pick<Rows, 'found'>): readonly Lookup[];
  /** Further rows that `clean` reads or writes. */
  keys?(forgotten: Forgotten, rows: Pick<Rows, 'found'>): readonly RowKey[];
  /**
   * Cleans the found rows; clean ones stay as they are.
   * @param piece not whole: some dependents are missing. The rows that they depend on are found
   * again, and must stay until then.
   */
  clean(forgotten: Forgotten, rows: Rows, piece: { readonly isWhole: boolean }): void;
}

/**
 * A projector turns events into rows. It is pure: its only inputs are the events and the announced
 * rows, so it can run again from the first event at any time, beside the live one.
 * `defineProjector` makes it from a table.
 */
export interface Projector {
  /** Its name for operators: `rewards`. */
  readonly name: string;
  readonly tables: readonly ReadModelTable[];
  /** The handled types; others only move its checkpoint. */
  readonly handles: ReadonlySet<ProjectedEvent['type']>;
  /** The rows that `apply` will read or write for this event. */
  keys(event: LedgerEvent): readonly RowKey[];
  /**
   * Further rows that only a loaded row can name; called once the rows of `keys` are loaded. A row
   * made by an earlier event of the same batch is not included: that event's own `keys` must
   * announce what later events need.
   */
  furtherKeys(event: LedgerEvent, rows: Pick<Rows, 'get'>): readonly RowKey[];
  /** Used for the events of an erasure, after `apply`. Each of them begins a new batch. */
  readonly forgetting: Forgetting;
  /**
   * Folds one event into the rows. Throws only when the event contradicts the rows: its account is
   * then parked.
   */
  apply(event: LedgerEvent, rows: Rows): void;
}

/**
 * The two events of an erasure clean every read model: the request at once, and the completion
 * again, for events recorded in between by a process that had not received the notification. After
 * the completion nothing personal can be read.
 */
export const ERASURES = [
  'ErasureRequested',
  'ErasureCompleted',
] as const satisfies readonly AccountEvent['type'][];

/** The people that an event forgets; undefined: not an event of an erasure. */
export function forgottenBy({ event, tenant, mode, accountRef }: LedgerEvent): Erasure | undefined {
  if (event.type !== 'ErasureRequested' && event.type !== 'ErasureCompleted') return undefined;
  const { type, at, erasureId, persons, account } = event;
  const deletesAccount = type === 'ErasureRequested' && account !== null;
  return { at, erasureId, tenant, mode, accountRef, persons: new Set(persons), deletesAccount };
}
