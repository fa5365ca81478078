import { NotDone, type OperationRefusalCode, type Outcome } from '../operations/outcome.js';
import { refusalText } from '../operations/refusal-text.js';
import { CommandError } from './command-error.js';

/** The result of an operation. @throws {CommandError} for a refused one. */
export function done<T>(outcome: Outcome<T>): T {
  if (!(outcome instanceof NotDone)) return outcome;
  const { because } = outcome;
  throw new CommandError(
    OWN_WORDS[because.code] ?? refusalText(because, optionOf),
    EXIT_CODES[because.code],
  );
}

/** `--as-of` for `asOf`. */
const optionOf = (argument: string): string =>
  `--${argument.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Texts that are more specific on the command line. */
const OWN_WORDS: Readonly<Partial<Record<OperationRefusalCode, string>>> = {
  PROJECTIONS_STOPPED:
    'stopped; nothing that is read was changed. A rebuild continues with --resume',
};

const EXIT_CODES: Readonly<Record<OperationRefusalCode, 1 | 3>> = {
  TENANT_NOT_FOUND: 1,
  ACCOUNT_NOT_FOUND: 1,
  REPAIRED_ACCOUNT_NOT_FOUND: 1,
  TIME_AND_POSITION: 1,
  TIME_MALFORMED: 1,
  TIME_IN_FUTURE: 1,
  DAY_MALFORMED: 1,
  TENANT_STATEMENT_BY_DAYS: 1,
  STATEMENT_TOO_LONG: 1,
  TIMES_REVERSED: 1,
  POSITION_UNKNOWN: 1,
  POSITION_BEYOND_HEAD: 1,
  PERIOD_MALFORMED: 1,
  PERIOD_NOT_BEGUN: 1,
  PERIOD_NOT_CHANGED: 1,
  NOT_ADJUSTED: 1,
  REFUSED_BEFORE: 1,
  IDEMPOTENCY_KEY_REUSED: 1,
  REQUEST_IN_PROGRESS: 1,
  PROPOSAL_NOT_FOUND: 1,
  PROPOSAL_IS_OWN: 1,
  PROPOSAL_EXPIRED: 1,
  PROPOSAL_APPROVED: 1,
  PROPOSAL_WITHOUT_USER: 1,
  BALANCES_WITHOUT_HEAD: 1,
  BALANCES_NOT_CSV: 1,
  BALANCE_MALFORMED: 1,
  BALANCE_REPEATED: 1,
  NO_READ_MODELS: 1,
  READ_MODELS_BEING_REBUILT: 1,
  ERASURES_BEING_CLEANED: 1,
  REPLAY_STOPPED: 1,
  CHAIN_EMPTY: 1,
  SEAL_NOT_SIGNED_HERE: 3,
  RECONCILIATION_STOPPED: 1,
  VERIFICATION_STOPPED: 1,
  CLOCKS_AGREE: 1,
  NOTHING_LOST: 1,
  REACTION_ID_MALFORMED: 1,
  REACTION_NOT_PARKED: 1,
  ENDPOINT_NOT_FOUND: 1,
  DELIVERY_NOT_FOUND: 1,
  MAIL_NOT_FOUND: 1,
  EXPORT_NOT_FOUND: 1,
  EXPORT_IS_OVER: 1,
  REFERRALS_NOT_MODERATED: 1,
  PROGRAM_REFUSED: 1,
  SETTINGS_REFUSED: 1,
  ENDPOINT_REFUSED: 1,
  EXPORT_NOT_ASKED_FOR: 1,
  EXPORT_NOT_COMPLETED: 1,
  EXPORT_STOPPED: 1,
  LOCALE_MALFORMED: 1,
  THEME_REFUSED: 1,
  FILE_NOT_WRITTEN: 1,
  PAYMENT_NOT_DONE: 1,
  PROJECTION_NOT_NAMED: 1,
  PROJECTION_UNKNOWN: 1,
  STREAM_NOT_NAMED: 1,
  STREAM_NOT_PARKED: 1,
  NO_NEW_GENERATION: 1,
  NO_NEW_GENERATIONS: 1,
  NOTHING_TO_RESUME: 1,
  ROWS_REFUSED: 1,
  GENERATION_REFUSED: 1,
  GENERATIONS_BUSY: 1,
  PROJECTIONS_STOPPED: 1,
  OTHER_RELEASE_RUNS: 1,
  RELEASE_NOT_CAUGHT_UP: 1,
  LOG_ADDRESS_MALFORMED: 1,
  LOG_ADDRESS_UNUSABLE: 1,
  NO_LOG_THERE: 1,
  SAME_LOG: 1,
  TARGET_IS_FOLLOWED: 1,
  SOURCE_MAY_GROW: 1,
  POLICIES_AHEAD_OF_SOURCE: 1,
  COPY_STOPPED: 1,
  TARGET_GOES_ON: 1,
  TARGET_DIFFERS: 1,
  TARGET_WRITTEN_BY_OTHERS: 1,
};
