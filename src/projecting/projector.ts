import type { AccountEvent } from '../domain/account/account.events.js';
import type { ExportEvent } from '../domain/export/export.decider.js';
import type { OperationEvent } from '../domain/operation/operation.decider.js';
import { countedAt } from '../domain/fact.js';
import type { LedgerMode } from '../domain/scope.js';
import type { Actor } from '../event-log/envelope.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';

/** The events that read models are made of. */
export type ProjectedEvent = AccountEvent | ExportEvent | OperationEvent;

/** A decoded event with its account, scope and position. */
export interface LedgerEvent<E = ProjectedEvent> {
  readonly event: E;
  readonly eventId: string;
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly recordedAt: number;
  readonly tenant: string;
  readonly mode: LedgerMode;
  /** The account's part of the stream name and key of rows. Empty: another kind of stream. */
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

/** Decodes stored events with one result per event, in order. */
export type DecodeEvents<E = ProjectedEvent> = (
  recorded: readonly RecordedEvent[],
) => Promise<readonly (LedgerEvent<E> | UndecodableEvent)[]>;

/** A table of a read model, created in the schema of each generation. */
export interface ReadModelTable {
  readonly name: string;
  /** Column → SQL type, e.g. `text not null`. Every column is written on every change. */
  readonly columns: Readonly<Record<string, string>>;
  readonly primaryKey: readonly string[];
  /** By suffix: `{ by_account: '(account_ref, date_given desc)' }`, with `using`, `where`. */
  readonly indexes: Readonly<Record<string, { readonly definition: string }>>;
  /** Column → check of a stored value; default for `jsonb`: an object. */
  readonly checks?: Readonly<Record<string, ValueCheck>> | undefined;
}

export type ValueCheck = (value: unknown) => boolean;

export type Row = Readonly<Record<string, unknown>>;

/** The rows of a batch in memory: loaded before it, and written after it when changed. */
export interface Rows {
  /** The rows of the current piece's lookups that still exist. */
  found(table: string): readonly Row[];
  /** A loaded or changed row; undefined: none. `keys` must have announced the key. */
  get(table: string, key: readonly string[]): Row | undefined;
  put(table: string, row: Row): void;
  delete(table: string, key: readonly string[]): void;
}

export interface RowKey {
  readonly table: string;
  /** Values of the primary key, in its order. */
  readonly key: readonly string[];
}

/** Finds rows with one of the values in every named column. An index must support it. */
export interface Lookup {
  readonly table: string;
  readonly where: Readonly<Record<string, readonly string[]>>;
  /** A piece begins after the last row of the previous one. Absent: cleaned rows drop out. */
  readonly orderedBy?: readonly IndexColumn[];
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
  /** From then on it counts in dated figures, epoch milliseconds. */
  readonly at: number;
  /** Only the request deletes the account: at the completion it may be open again. */
  readonly deletesAccount: boolean;
}

/**
 * The cleaning of a read model after an erasure. Finds rows by their contents, in pieces of limited
 * size, so that other events do not wait for a person with very many rows. Until the last piece is
 * cleaned, queries exclude these people (`LiveReads`).
 */
export interface Forgetting {
  /** Rows that the erasure names by key. Cleaned with its event, before the first piece. */
  readonly immediate?: {
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
  /** @param piece not whole: dependents are missing; rows with any must stay. */
  clean(forgotten: Forgotten, rows: Rows, piece: { readonly isWhole: boolean }): void;
}

/** Pure, so it can run again from the first event, next to the live one. */
export interface Projector {
  /** Its name for operators: `rewards`. */
  readonly name: string;
  readonly tables: readonly ReadModelTable[];
  /** The handled types; others only move its checkpoint. */
  readonly handles: ReadonlySet<ProjectedEvent['type']>;
  /** The rows that `apply` will read or write for this event. */
  keys(event: LedgerEvent): readonly RowKey[];
  /**
   * Further rows that only a loaded row can name; called after the rows of `keys` are loaded.
   * Excludes rows of earlier events of the batch, whose own `keys` must announce what later events
   * need.
   */
  furtherKeys(event: LedgerEvent, rows: Pick<Rows, 'get'>): readonly RowKey[];
  /** Used for the events of an erasure, after `apply`. Each of them begins a new batch. */
  readonly forgetting: Forgetting;
  /** Throws only when the event contradicts the rows: its account is then parked. */
  apply(event: LedgerEvent, rows: Rows): void;
}

/**
 * Both events of an erasure clean every read model: the request immediately, and the completion
 * again for events recorded in between by a process without the notification. After the completion
 * nothing personal can be read.
 */
export const ERASURES = [
  'ErasureRequested',
  'ErasureCompleted',
] as const satisfies readonly AccountEvent['type'][];

/** The people that an event forgets; undefined: not an event of an erasure. */
export function forgottenBy(of: LedgerEvent): Erasure | undefined {
  const { event, tenant, mode, accountRef } = of;
  if (event.type !== 'ErasureRequested' && event.type !== 'ErasureCompleted') return undefined;
  const { type, erasureId, persons, account } = event;
  const at = countedAt({ ...of, event });
  const deletesAccount = type === 'ErasureRequested' && account !== null;
  return { at, erasureId, tenant, mode, accountRef, persons: new Set(persons), deletesAccount };
}
