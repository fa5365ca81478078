/** The two separate halves of a tenant's data; the credentials of a call select one. */
export type Mode = 'live' | 'test';
export const MODES: readonly Mode[] = ['live', 'test'];

/** Removing the test data starts another ledger: `test-2` follows the second removal. */
export type LedgerMode = Mode | `test-${number}`;

/** For patterns of stream names and ids. */
export const LEDGER_MODE = 'live|test(?:-[1-9]\\d{0,8})?';

const IS_LEDGER_MODE = new RegExp(`^(?:${LEDGER_MODE})$`);

export const isLedgerMode = (text: unknown): text is LedgerMode =>
  typeof text === 'string' && IS_LEDGER_MODE.test(text);

export const modeOf = (mode: LedgerMode): Mode => (mode === 'live' ? 'live' : 'test');

/** The first part of every key, stream and row. */
export interface Scope {
  readonly tenant: string;
  readonly mode: LedgerMode;
}

/** The scope of settings, which outlast the removal of test data. */
export interface ScopeOfMode extends Scope {
  readonly mode: Mode;
}

/** The settings that a ledger has. */
export const scopeOfMode = ({ tenant, mode }: Scope): ScopeOfMode => ({
  tenant,
  mode: modeOf(mode),
});

/** @param stored columns of a row. */
export const scopeOf = (stored: { readonly tenant: string; readonly mode: string }): Scope => ({
  tenant: stored.tenant,
  mode: isLedgerMode(stored.mode) ? stored.mode : 'live',
});

/** Keyed hash of an account id in its scope, 32 hex digits: its name in streams and rows. */
export type AccountRef = string;
