/** A tenant's data comes in two halves that never mix; the credentials of a call decide which. */
export type Mode = 'live' | 'test';
export const MODES: readonly Mode[] = ['live', 'test'];

/** What every key, stream and row starts with. */
export interface Scope {
  readonly tenant: string;
  readonly mode: Mode;
}

/**
 * The keyed hash of an account id within its scope, 32 hex digits. Stands in streams, ids and rows
 * instead of the id.
 */
export type AccountRef = string;
