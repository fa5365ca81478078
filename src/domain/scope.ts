/** A tenant's data are in two halves that never mix; the credentials of a call select one. */
export type Mode = 'live' | 'test';
export const MODES: readonly Mode[] = ['live', 'test'];

/**
 * Where data are. Removing the test data begins test mode anew, in another ledger: `test-2` is the
 * one after the second removal. Settings belong to a mode, data to one of these.
 */
export type LedgerMode = Mode | `test-${number}`;

/** As part of a pattern of stream names and ids. */
export const LEDGER_MODE = 'live|test(?:-[1-9]\\d{0,8})?';

const IS_LEDGER_MODE = new RegExp(`^(?:${LEDGER_MODE})$`);

export const isLedgerMode = (text: unknown): text is LedgerMode =>
  typeof text === 'string' && IS_LEDGER_MODE.test(text);

/** The half that a ledger belongs to. */
export const modeOf = (mode: LedgerMode): Mode => (mode === 'live' ? 'live' : 'test');

/** The first part of every key, stream and row. */
export interface Scope {
  readonly tenant: string;
  readonly mode: LedgerMode;
}

/** The scope of settings, and of what is kept when test data are removed. */
export interface ScopeOfMode extends Scope {
  readonly mode: Mode;
}

/** The settings that a ledger has. */
export const ofMode = ({ tenant, mode }: Scope): ScopeOfMode => ({ tenant, mode: modeOf(mode) });

/** @param stored as a row has it. */
export const scopeOf = (stored: { readonly tenant: string; readonly mode: string }): Scope => ({
  tenant: stored.tenant,
  mode: isLedgerMode(stored.mode) ? stored.mode : 'live',
});

/**
 * The keyed hash of an account id within its scope, 32 hex digits. Replaces the id in streams, ids
 * and rows.
 */
export type AccountRef = string;
