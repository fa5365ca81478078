import type { AccountRef } from '../../../domain/scope.js';

/** A value that differs between a read model and the ledger. */
export interface Difference {
  /** The client's id; `anonymous` when it is forgotten. */
  readonly account: string;
  readonly readModel: string;
  /** `<table>/<key>.<column>`; without a column: the row as a whole. */
  readonly field: string;
  readonly ledger: unknown;
  readonly live: unknown;
  /** The events that the ledger's value follows from. */
  readonly eventIds: readonly string[];
}

/** A difference before its account is named and its events are found. */
export interface Finding {
  /** Undefined: of several accounts, of none, or of one that is not in the log. */
  readonly account: AccountRef | undefined;
  readonly isOfAccount: boolean;
  readonly readModel: string;
  /** `<table>/<key>` */
  readonly row: string;
  /** Undefined: the row as a whole. */
  readonly column?: string;
  readonly ledger: unknown;
  readonly live: unknown;
}

export const rowName = (table: string, key: readonly string[]): string => [table, ...key].join('/');

export const PRESENCE = { present: 'present', missing: 'missing' } as const;

/** In the place of a row: an event that a read model cannot apply. */
export const eventName = (revision: bigint): string => rowName('events', [String(revision)]);
