import type { Refusal } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';

/** A member of a request: `asOf` over HTTP, `--as-of` on the command line. */
export type Argument = string;

/**
 * Why an operation was refused; nothing changed. A closed set: each code has its line in
 * refusal-text.ts and its answer in src/http/operations/refusals.ts.
 */
export type OperationRefusal =
  | { readonly code: 'TENANT_NOT_FOUND'; readonly tenant: string }
  | { readonly code: 'ACCOUNT_NOT_FOUND'; readonly accountId: string; readonly scope: Scope }
  | { readonly code: 'REPAIRED_ACCOUNT_NOT_FOUND' }
  | SelectionRefusal
  | PeriodRefusal
  | AdjustmentRefusal
  | ProposalRefusal
  | BalancesRefusal
  | ReplayRefusal
  | ChainRefusal
  | ReactionRefusal
  | WebhookRefusal
  | ExportRefusal
  /** One line for each reason. */
  | {
      readonly code:
        'REFERRALS_NOT_MODERATED' | 'PROGRAM_REFUSED' | 'SETTINGS_REFUSED' | 'ENDPOINT_REFUSED';
      readonly reasons: readonly string[];
    }
  | ThemeRefusal
  | FileRefusal
  | PaymentRefusal
  | ProjectionRefusal
  | ReleaseRefusal
  | CopyRefusal;

type SelectionRefusal =
  | { readonly code: 'TIME_AND_POSITION' }
  | { readonly code: 'TIME_MALFORMED' | 'TIME_IN_FUTURE'; readonly argument: Argument }
  | { readonly code: 'DAY_MALFORMED'; readonly argument: Argument }
  /** Over a period of days, without an account. */
  | { readonly code: 'TENANT_STATEMENT_BY_DAYS' }
  | { readonly code: 'STATEMENT_TOO_LONG'; readonly lines: number }
  | { readonly code: 'TIMES_REVERSED'; readonly argument: Argument; readonly after: Argument }
  | { readonly code: 'POSITION_UNKNOWN' | 'POSITION_BEYOND_HEAD'; readonly position: string };

type PeriodRefusal =
  | { readonly code: 'PERIOD_MALFORMED' }
  | { readonly code: 'PERIOD_NOT_BEGUN'; readonly period: string }
  | { readonly code: 'PERIOD_NOT_CHANGED'; readonly refused: Refusal; readonly period: string };

type AdjustmentRefusal =
  | {
      readonly code: 'NOT_ADJUSTED';
      readonly refused: Refusal;
      readonly details: readonly string[];
      readonly accountId: string;
      readonly userId: string;
    }
  /** A request with the same key was refused before, for this reason. */
  | { readonly code: 'REFUSED_BEFORE'; readonly reason: string; readonly refused?: string }
  | { readonly code: 'IDEMPOTENCY_KEY_REUSED' | 'REQUEST_IN_PROGRESS' }
  /** Neither a program nor any credit of the tenant has it. */
  | { readonly code: 'UNIT_UNKNOWN'; readonly unit: string }
  /** Over HTTP, another operator with the role finance approves. */
  | { readonly code: 'APPROVER_REFUSED' };

type ProposalRefusal =
  | {
      readonly code: 'PROPOSAL_ENDED';
      /** `approved`, `rejected`, `withdrawn` or `lapsed`. */
      readonly state: string;
    }
  /** The prefix of an id, of several ids. */
  | { readonly code: 'ID_AMBIGUOUS'; readonly id: string; readonly count: number }
  | SimpleProposalRefusal;

type SimpleProposalRefusal = {
  readonly code:
    | 'PROPOSAL_NOT_FOUND'
    /** Its proposer approves or rejects it. */
    | 'PROPOSAL_IS_OWN'
    /** Another operator withdraws it. */
    | 'PROPOSAL_OF_OTHERS'
    | 'PROPOSAL_EXPIRED'
    | 'PROPOSAL_APPROVED'
    /** The user was forgotten. */
    | 'PROPOSAL_WITHOUT_USER';
};

type BalancesRefusal =
  | { readonly code: 'BALANCES_WITHOUT_HEAD'; readonly source: string; readonly head: string }
  | {
      readonly code: 'BALANCES_NOT_CSV' | 'BALANCE_MALFORMED' | 'BALANCE_REPEATED';
      readonly source: string;
      readonly line: number;
    };

type ReplayRefusal =
  | {
      readonly code: 'NO_READ_MODELS' | 'READ_MODELS_BEING_REBUILT' | 'ERASURES_BEING_CLEANED';
    }
  | {
      readonly code: 'REPLAY_STOPPED';
      readonly differences: number;
      readonly accounts: number;
      /** Where to continue; undefined: at the beginning. */
      readonly resumeFrom: string | undefined;
    };

type ChainRefusal =
  /** The digest belongs to another chain. */
  | ({ readonly code: 'DIGEST_OF_OTHERS' } & Scope)
  | { readonly code: 'CHAIN_EMPTY'; readonly scope: Scope }
  /** A digest on top of it would vouch for unverified events. */
  | { readonly code: 'SEAL_NOT_SIGNED_HERE' }
  | {
      readonly code:
        'RECONCILIATION_STOPPED' | 'VERIFICATION_STOPPED' | 'NOTHING_LOST' | 'CLOCKS_AGREE';
    };

type ReactionRefusal = {
  readonly code: 'REACTION_ID_MALFORMED' | 'REACTION_NOT_PARKED';
  readonly id: string;
};

type WebhookRefusal =
  | { readonly code: 'ENDPOINT_NOT_FOUND'; readonly endpoint: string }
  | { readonly code: 'DELIVERY_NOT_FOUND' | 'MAIL_NOT_FOUND'; readonly id: string };

type ExportRefusal =
  | { readonly code: 'EXPORT_NOT_FOUND' | 'EXPORT_IS_OVER' }
  /** One line for each reason. */
  | { readonly code: 'EXPORT_NOT_ASKED_FOR'; readonly reasons: readonly string[] }
  | { readonly code: 'EXPORT_NOT_COMPLETED'; readonly reason: string }
  /** The command stopped waiting; the export continues. */
  | { readonly code: 'EXPORT_STOPPED'; readonly exportId: string };

type ThemeRefusal =
  | { readonly code: 'LOCALE_MALFORMED'; readonly argument: Argument }
  | {
      readonly code: 'THEME_REFUSED';
      readonly refused: Refusal;
      /** One line for each fault. */
      readonly details: readonly string[];
      /** Until a change of this size is taken; undefined: that is not the reason. */
      readonly waitMs: number | undefined;
    };

type FileRefusal = {
  readonly code: 'FILE_NOT_WRITTEN';
  readonly file: string;
  readonly reason: string;
};

/** `reason` quotes no secret. */
type PaymentRefusal = { readonly code: 'PAYMENT_NOT_DONE'; readonly reason: string };

type ProjectionRefusal =
  | { readonly code: 'PROJECTION_NOT_NAMED' | 'STREAM_NOT_NAMED' | 'NO_NEW_GENERATIONS' }
  | {
      readonly code: 'PROJECTION_UNKNOWN';
      readonly projection: string;
      readonly known: readonly string[];
    }
  | {
      readonly code: 'NO_NEW_GENERATION' | 'NOTHING_TO_RESUME' | 'STREAM_NOT_PARKED';
      readonly projection: string;
    }
  /** The generations are not in the required state; `reason` says what to do. */
  | { readonly code: 'ROWS_REFUSED'; readonly reason: string }
  | { readonly code: 'GENERATION_REFUSED' | 'GENERATIONS_BUSY'; readonly reason: string }
  | { readonly code: 'PROJECTIONS_STOPPED' };

type ReleaseRefusal =
  | { readonly code: 'OTHER_RELEASE_RUNS'; readonly processes: number }
  | { readonly code: 'RELEASE_NOT_CAUGHT_UP'; readonly projections: readonly string[] };

type CopyRefusal =
  | { readonly code: 'LOG_ADDRESS_MALFORMED'; readonly argument: Argument }
  /** `problem` quotes no value of the address. */
  | {
      readonly code: 'LOG_ADDRESS_UNUSABLE';
      readonly argument: Argument;
      readonly problem: string;
    }
  | { readonly code: 'NO_LOG_THERE' | 'SAME_LOG' | 'TARGET_IS_FOLLOWED' | 'SOURCE_MAY_GROW' }
  | { readonly code: 'POLICIES_AHEAD_OF_SOURCE' | 'COPY_STOPPED' }
  | { readonly code: 'TARGET_GOES_ON'; readonly events: number; readonly stream: string }
  | { readonly code: 'TARGET_DIFFERS'; readonly event: number; readonly stream: string }
  | {
      readonly code: 'TARGET_WRITTEN_BY_OTHERS';
      readonly revision: bigint;
      readonly stream: string;
    };

export type OperationRefusalCode = OperationRefusal['code'];

/** The refusal of an operation. */
export class NotDone {
  constructor(readonly because: OperationRefusal) {}
}

/** With one line for each reason. */
export const settingsRefused = (...reasons: readonly string[]): NotDone =>
  new NotDone({ code: 'SETTINGS_REFUSED', reasons });

export type Outcome<T> = T | NotDone;
