import type { Scope } from '../../domain/scope.js';

/** Rows of another program's files, with the ledger's answer to each. */

export type ImportKind = 'users' | 'referrals' | 'rewards';

/** A run imports one file. */
export interface ImportRun extends Scope {
  readonly kind: ImportKind;
  /** Decides rows against the ledger and earlier rows of the run, without recording them. */
  readonly dryRun: boolean;
}

/**
 * By column, as `typedRow` reads it: an absent one has no member, dates are epoch milliseconds,
 * custom fields a map. A reward without `id` has its number among equal rows, `equalRowNumber`.
 */
export type ImportRow = Readonly<Record<string, unknown>>;

/** The recorded figures of a row of credit. */
export interface ControlFigures {
  /** In the row's spelling. */
  readonly unit: string;
  readonly rewards: number;
  readonly assigned: number;
  readonly redeemed: number;
  readonly available: number;
  /** The time of the decision, also in an earlier run: by it, credit is scheduled or expired. */
  readonly at: number;
}

export type RowOutcome =
  | {
      /** Unchanged: an earlier run or row imported it. */
      readonly kind: 'imported' | 'unchanged';
      /** Of a referral or reward; missing: the person was forgotten. */
      readonly ledgerId?: string;
      readonly control?: ControlFigures;
    }
  /** `CODE: sentence`, or `ROW_DIFFERS: <column>: "<imported>", now "<row>"`. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** Imports rows of an account one after the other; other accounts may run concurrently. */
export type ImportsRow = (row: ImportRow) => Promise<RowOutcome>;
