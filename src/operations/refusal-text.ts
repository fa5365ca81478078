import type { Refusal } from '../domain/refusal.js';
import type { Argument, OperationRefusal, OperationRefusalCode } from './outcome.js';

/** How members of a request are written: as options, or as members of JSON. */
export type WordFor = (argument: Argument) => string;

type Texts = {
  readonly [C in OperationRefusalCode]: (
    refusal: OperationRefusal & { readonly code: C },
    wordFor: WordFor,
  ) => string;
};

/** One line for an operator that says why an operation was refused. */
export function refusalText(refusal: OperationRefusal, wordFor: WordFor): string {
  // The text of a code takes the refusal of that code, which the compiler cannot infer here.
  const text = TEXTS[refusal.code] as (refusal: OperationRefusal, wordFor: WordFor) => string;
  return text(refusal, wordFor);
}

/** The line with members named as in requests over HTTP. */
export const plainText = (refusal: OperationRefusal): string =>
  refusalText(refusal, (argument) => argument);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));

const TEXTS: Texts = {
  TENANT_NOT_FOUND: ({ tenant }) => `there is no tenant ${tenant}`,
  ACCOUNT_NOT_FOUND: ({ accountId, scope: { tenant, mode } }) =>
    `there is no account ${accountId} in ${tenant} (${mode})`,
  REPAIRED_ACCOUNT_NOT_FOUND: () => 'there is no such account of this tenant and mode',

  TIME_AND_POSITION: (_, wordFor) =>
    `${wordFor('asOf')} and ${wordFor('position')} exclude each other`,
  TIME_MALFORMED: ({ argument }, wordFor) =>
    `${wordFor(argument)} takes a time such as 2026-10-31T23:59:59Z`,
  DAY_MALFORMED: ({ argument }, wordFor) => `${wordFor(argument)} takes a day such as 2026-10-31`,
  TENANT_STATEMENT_BY_DAYS: (_, wordFor) =>
    `${wordFor('asOf')} and ${wordFor('position')} need an account: name one, or a span of days`,
  STATEMENT_TOO_LONG: ({ lines }) =>
    `these are more than ${lines} lines: name a unit or a shorter period`,
  TIME_IN_FUTURE: ({ argument }, wordFor) => `${wordFor(argument)} lies in the future`,
  TIMES_REVERSED: ({ argument, after }, wordFor) =>
    `${wordFor(argument)} lies after ${wordFor(after)}`,
  POSITION_UNKNOWN: ({ position }) =>
    `${quoted(position)} is no position of this log, nor of an event that came from another`,
  POSITION_BEYOND_HEAD: ({ position }) => `the position ${position} is beyond the head of the log`,

  PERIOD_MALFORMED: (_, wordFor) => `${wordFor('period')} takes a month such as 2026-10`,
  PERIOD_NOT_BEGUN: ({ period }) => `the period ${period} has not begun yet`,
  PERIOD_NOT_CHANGED: ({ refused, period }) => periodText(refused, period),

  NOT_ADJUSTED: (refusal) => adjustmentText(refusal),
  REFUSED_BEFORE: ({ reason }) => reason,
  IDEMPOTENCY_KEY_REUSED: () => 'the idempotency key was used for another correction',
  REQUEST_IN_PROGRESS: () => 'a correction with this idempotency key is still under way',
  UNIT_UNKNOWN: ({ unit }, wordFor) =>
    `the tenant has no unit ${quoted(unit)}: correct it, or add ${wordFor('newUnit')}`,
  APPROVER_REFUSED: (_, wordFor) =>
    `${wordFor('approvedBy')} must be another operator than the caller, with the role finance`,

  PROPOSAL_NOT_FOUND: () => 'there is no such proposal',
  PROPOSAL_IS_OWN: () =>
    'a proposal is approved or rejected by another operator than the one who made it',
  PROPOSAL_OF_OTHERS: () => 'a proposal is withdrawn by the operator who made it',
  PROPOSAL_ENDED: ({ state }) => `the proposal has ended: it is ${state}`,
  ID_AMBIGUOUS: ({ id, count }) => `${quoted(id)} begins ${count} ids: write more of it`,
  PROPOSAL_EXPIRED: () => 'the proposal was not approved within seven days: propose it again',
  PROPOSAL_APPROVED: () => 'another operator has approved the proposal already',
  PROPOSAL_WITHOUT_USER: () => 'the user of the proposal is forgotten',

  BALANCES_WITHOUT_HEAD: ({ source, head }) => `${source} must begin with the line ${head}`,
  BALANCES_NOT_CSV: ({ source, line }) => `${source}: line ${line} is no CSV`,
  BALANCE_MALFORMED: ({ source, line }) =>
    `${source}: line ${line} is no account, unit and balance; a balance is a whole number such as 1250, or 12.50 for CENTS, without a separator of thousands`,
  BALANCE_REPEATED: ({ source, line }) =>
    `${source}: line ${line} names an account and unit a second time`,

  NO_READ_MODELS: () => 'there are no read models yet: start the service once',
  READ_MODELS_BEING_REBUILT: () =>
    'the read models are being rebuilt: try again when the service is ready',
  ERASURES_BEING_CLEANED: () =>
    'forgotten people are still being removed from the read models: try again in a moment',
  REPLAY_STOPPED: ({ differences, accounts, resumeFrom }, wordFor) => {
    const found = `stopped; ${differences} differences in ${accounts} accounts so far`;
    return resumeFrom === undefined
      ? found
      : `${found}; continue with ${wordFor('resumeFrom')} ${resumeFrom}`;
  },

  DIGEST_OF_OTHERS: ({ tenant, mode }, wordFor) =>
    `${wordFor('digest')} is of ${tenant} in ${mode} mode`,
  CHAIN_EMPTY: ({ scope: { tenant, mode } }) =>
    `the chain of ${tenant} has no events in ${mode} mode`,
  SEAL_NOT_SIGNED_HERE: () =>
    'the newest seal of this chain was not signed by this installation: `ledger verify` says where the chain breaks',
  // The command line has its own text; over HTTP the run's state says it.
  RECONCILIATION_STOPPED: () => 'stopped before the end',
  VERIFICATION_STOPPED: () => 'stopped before the end; no break was found so far',
  CLOCKS_AGREE: () => 'the newest entry of the log is not ahead of the clock: nothing to accept',
  NOTHING_LOST: () => 'nothing was lost: there is nothing to acknowledge',

  REACTION_ID_MALFORMED: ({ id }) =>
    `${quoted(id)} is no id of a parked reaction: see policy parked`,
  REACTION_NOT_PARKED: ({ id }) => `nothing is parked under ${id}`,
  ENDPOINT_NOT_FOUND: () => 'there is no subscription of this URL',
  DELIVERY_NOT_FOUND: () => 'there is no such delivery',
  MAIL_NOT_FOUND: () => 'there is no such mail',
  EXPORT_NOT_FOUND: () => 'there is no such export',
  EXPORT_IS_OVER: () => 'the export is over: there is nothing to cancel',
  REFERRALS_NOT_MODERATED: ({ reasons }) => reasons.join('; '),
  PROGRAM_REFUSED: ({ reasons }) => reasons.join('; '),
  SETTINGS_REFUSED: ({ reasons }) => reasons.join('; '),
  ENDPOINT_REFUSED: ({ reasons }) => reasons.join('; '),
  EXPORT_NOT_ASKED_FOR: ({ reasons }) => reasons.join('; '),
  EXPORT_NOT_COMPLETED: ({ reason }) => `the export was aborted: ${reason}`,
  EXPORT_STOPPED: ({ exportId }) =>
    `stopped: the export ${exportId} continues; export cancel ends it`,
  LOCALE_MALFORMED: ({ argument }, wordFor) =>
    `${wordFor(argument)} takes a locale such as en or en_US`,
  THEME_REFUSED: (refusal) => themeText(refusal),
  FILE_NOT_WRITTEN: ({ file, reason }) => `cannot write ${file}: ${reason}`,
  PAYMENT_NOT_DONE: ({ reason }) => reason,

  PROJECTION_NOT_NAMED: (_, wordFor) => `name one projection, or say ${wordFor('all')}`,
  PROJECTION_UNKNOWN: ({ projection, known }) =>
    `there is no projection ${quoted(projection)}; there are ${known.join(', ')}`,
  STREAM_NOT_NAMED: (_, wordFor) =>
    `name ${wordFor('tenant')} and ${wordFor('account')}, or ${wordFor('stream')}`,
  STREAM_NOT_PARKED: ({ projection }) =>
    `there is no such parked stream of ${projection}: see projection parked`,
  NO_NEW_GENERATION: ({ projection }) =>
    `there is no new generation of ${projection}: rebuild it first`,
  NO_NEW_GENERATIONS: () => 'no projection has a new generation: rebuild first',
  NOTHING_TO_RESUME: ({ projection }, wordFor) =>
    `there is nothing of ${projection} to resume: rebuild it without ${wordFor('resume')}`,
  ROWS_REFUSED: ({ reason }) =>
    `nothing was changed: a table of the projection refuses a row made from the log: ${reason}; remove a constraint that was added to the table by hand, or start the release with a fixed projector, and run this again`,
  GENERATION_REFUSED: ({ reason }) => reason,
  GENERATIONS_BUSY: ({ reason }) => reason,
  PROJECTIONS_STOPPED: () => 'stopped',

  OTHER_RELEASE_RUNS: ({ processes }) =>
    `${processes} ${processes === 1 ? 'process' : 'processes'} of another release still run on this database: stop them first`,
  RELEASE_NOT_CAUGHT_UP: ({ projections }) =>
    `the read models of this release are not built yet (${projections.join(', ')}): let its service catch up first`,

  LOG_ADDRESS_MALFORMED: ({ argument }, wordFor) =>
    `${wordFor(argument)} must be the address of a log: postgresql://…, esdb://…, or the word embedded`,
  LOG_ADDRESS_UNUSABLE: ({ argument, problem }, wordFor) => `${wordFor(argument)} ${problem}`,
  NO_LOG_THERE: () => 'there is no log of this service at that address',
  SAME_LOG: (_, wordFor) => `${wordFor('from')} and ${wordFor('to')} are the same log`,
  TARGET_IS_FOLLOWED: (_, wordFor) =>
    `the service follows the log at ${wordFor('to')}: copy from it, or correct DATABASE_URL, which is another service's`,
  SOURCE_MAY_GROW: (_, wordFor) =>
    `a service or a command runs on this database and may append: stop it, or make a first pass beside it with ${wordFor('whileRunning')}`,
  POLICIES_AHEAD_OF_SOURCE: () =>
    'policies are at a position that the source does not have: start the service on the source once, stop it and run again',
  COPY_STOPPED: () => 'stopped; run the same command again to continue',
  TARGET_GOES_ON: ({ events, stream }) =>
    `the target holds other streams of ours: it goes on behind the ${events} events of the source, with ${stream}`,
  TARGET_DIFFERS: ({ event, stream }) =>
    `the target holds other streams of ours: its event ${event}, in ${stream}, is not the source's`,
  TARGET_WRITTEN_BY_OTHERS: ({ revision, stream }) =>
    `the target does not take revision ${revision} of ${stream}: another process writes to it; run the same command again, which continues or names what differs`,
};

function periodText(refused: Refusal, period: string): string {
  if (refused === 'PERIOD_NOT_OVER') return `the period ${period} is not over yet`;
  if (refused === 'PERIOD_ALREADY_CLOSED') return `the period ${period} is closed already`;
  if (refused === 'PERIOD_NOT_CLOSED') return `the period ${period} is not closed`;
  return `refused: ${refused}`;
}

function adjustmentText({
  refused,
  details,
  accountId,
  userId,
}: OperationRefusal & { readonly code: 'NOT_ADJUSTED' }): string {
  switch (refused) {
    case 'ACCOUNT_NOT_FOUND':
      return `there is no account ${accountId}`;
    case 'USER_NOT_FOUND':
      return `there is no user ${userId} in account ${accountId}`;
    case 'TOO_MANY_PROPOSALS':
      return 'no more proposals are taken today for this tenant and mode';
    default:
      return details.length > 0 ? details.join('; ') : `refused: ${refused}`;
  }
}

/** Faults of a document are shown up to this number, in one line. */
const FAULTS_SHOWN = 5;

function themeText({
  refused,
  details,
  waitMs,
}: OperationRefusal & { readonly code: 'THEME_REFUSED' }): string {
  switch (refused) {
    case 'THEME_NOT_FOUND':
      return 'the locale has no values of its own';
    case 'THEME_VERSION_NOT_FOUND':
      return 'there is no such version, or it is too far back';
    case 'THEME_TOO_LARGE':
      return 'the values exceed 256 KiB as compact JSON';
    case 'THEME_CHANGED_TOO_MUCH':
      return `more of the themes was changed than a day allows: try again in ${Math.ceil((waitMs ?? 0) / 60_000)} minutes`;
    default: {
      const more = details.length - FAULTS_SHOWN;
      const shown = details.slice(0, FAULTS_SHOWN).join('; ');
      return details.length === 0
        ? `refused: ${refused}`
        : more > 0
          ? `${shown}; and ${more} more`
          : shown;
    }
  }
}
