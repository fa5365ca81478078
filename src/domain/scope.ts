/** A tenant's data are in two halves that never mix; the credentials of a call select one. */
export type Mode = 'live' | 'test';
export const MODES: readonly Mode[] = ['live', 'test'];

/** The first part of every key, stream and row. */
export interface Scope {
  readonly tenant: string;
  readonly mode: Mode;
}

/** @param stored as a row has it: one of the modes. */
export const scopeOf = (stored: { readonly tenant: string; readonly mode: string }): Scope => ({
  tenant: stored.tenant,
  mode: MODES.find((mode) => mode === stored.mode) ?? 'live',
});

/**
 * The keyed hash of an account id within its scope, 32 hex digits. Replaces the id in streams, ids
 * and rows.
 */
export type AccountRef = string;
