import type { Refusal } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';

/** A member of a request: `asOf` over HTTP, `--as-of` on the command line. */
export type Argument = string;

/** How members of a request are written: as options, or as members of JSON. */
export type WordFor = (argument: Argument) => string;

type TextOf<Facts> = (facts: Facts, wordFor: WordFor) => string;

interface Line<Facts> {
  readonly text: TextOf<Facts>;
  readonly about: readonly Argument[];
}

/**
 * One line for an operator that says why an operation was refused, from the facts of the refusal.
 * @param text of a constant one, `{member}` becomes the channel's name of the member.
 * @param about the members of the request that it is about, named as over HTTP; none where it names
 * one in `argument`, or is about the whole request or what was there before it.
 */
const of = <Facts = unknown>(
  text: string | TextOf<Readonly<Facts>>,
  ...about: readonly Argument[]
): Line<Readonly<Facts>> => ({
  text: typeof text === 'string' ? (_, wordFor) => withWords(text, wordFor) : text,
  about,
});

/** The text with the channel's name of each `{member}`. */
export const withWords = (text: string, wordFor: WordFor): string =>
  text.replace(/\{(\w+)\}/g, (_, member: string) => wordFor(member));

/** About the member in `argument`. */
const atArgument = (text: string) =>
  of<{ argument: Argument }>(({ argument }, wordFor) => `${wordFor(argument)} ${text}`);

/** A refusal of the domain, with one line for each detail; of a correction. */
interface NotAdjusted {
  refused: Refusal;
  details: readonly string[];
  accountId: string;
  userId: string;
}

interface ThemeRefused {
  refused: Refusal;
  /** One line for each fault. */
  details: readonly string[];
  /** Until a change of this size is taken; undefined: that is not the reason. */
  waitMs: number | undefined;
}

/** A line of a refusal; a function names members as its channel does. */
export type Reason = string | ((wordFor: WordFor) => string);

/** Those of a refusal that carries its own lines. */
export const linesOf = (reasons: readonly Reason[], wordFor: WordFor): readonly string[] =>
  reasons.map((reason) => (typeof reason === 'string' ? reason : reason(wordFor)));

/** Faults of a document are shown up to this number, in one line. */
const FAULTS_SHOWN = 5;

/** The line of a refusal of the domain; of one that has none its details. */
const ofDomain = (
  refused: Refusal,
  lines: Readonly<Partial<Record<Refusal, string>>>,
  details = '',
): string => lines[refused] ?? (details || `refused: ${refused}`);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 80));

/**
 * Why an operation was refused; nothing changed. A closed set: each code has its facts and its line
 * here, and its answer in src/http/operations/refusals.ts.
 */
const REFUSALS = {
  TENANT_NOT_FOUND: of<{ tenant: string }>(
    ({ tenant }) => `there is no tenant ${tenant}`,
    'tenant',
  ),
  ACCOUNT_NOT_FOUND: of<{ accountId: string; scope: Scope }>(
    ({ accountId, scope: { tenant, mode } }) =>
      `there is no account ${accountId} in ${tenant} (${mode})`,
    'account',
  ),
  REPAIRED_ACCOUNT_NOT_FOUND: of('there is no such account of this tenant and mode', 'account'),

  TIME_AND_POSITION: of('{asOf} and {position} exclude each other', 'asOf', 'position'),
  TIME_MALFORMED: atArgument('takes a time such as 2026-10-31T23:59:59Z'),
  DAY_MALFORMED: atArgument('takes a day such as 2026-10-31'),
  /** Over a period of days, without an account. */
  TENANT_STATEMENT_BY_DAYS: of(
    '{asOf} and {position} need an account: name one, or a span of days',
    'asOf',
    'position',
  ),
  STATEMENT_TOO_LONG: of<{ lines: number }>(
    ({ lines }) => `these are more than ${lines} lines: name a unit or a shorter period`,
  ),
  TIME_IN_FUTURE: atArgument('lies in the future'),
  TIMES_REVERSED: of<{ argument: Argument; after: Argument }>(
    ({ argument, after }, wordFor) => `${wordFor(argument)} lies after ${wordFor(after)}`,
  ),
  POSITION_UNKNOWN: of<{ position: string }>(
    ({ position }) =>
      `${quoted(position)} is no position of this log, nor of an event that came from another`,
    'position',
  ),
  POSITION_BEYOND_HEAD: of<{ position: string }>(
    ({ position }) => `the position ${position} is beyond the head of the log`,
    'position',
  ),

  PERIOD_MALFORMED: of('{period} takes a month such as 2026-10', 'period'),
  PERIOD_NOT_BEGUN: of<{ period: string }>(
    ({ period }) => `the period ${period} has not begun yet`,
    'period',
  ),
  PERIOD_NOT_CHANGED: of<{ refused: Refusal; period: string }>(
    ({ refused, period }) =>
      ofDomain(refused, {
        PERIOD_NOT_OVER: `the period ${period} is not over yet`,
        PERIOD_ALREADY_CLOSED: `the period ${period} is closed already`,
        PERIOD_NOT_CLOSED: `the period ${period} is not closed`,
      }),
    'period',
  ),

  NOT_ADJUSTED: of<NotAdjusted>(({ refused, details, accountId, userId }) =>
    ofDomain(
      refused,
      {
        ACCOUNT_NOT_FOUND: `there is no account ${accountId}`,
        USER_NOT_FOUND: `there is no user ${userId} in account ${accountId}`,
        TOO_MANY_PROPOSALS: 'no more proposals are taken today for this tenant and mode',
      },
      details.join('; '),
    ),
  ),
  /** A request with the same key was refused before, for this reason. */
  REFUSED_BEFORE: of<{ reason: string; refused?: string }>(({ reason }) => reason),
  IDEMPOTENCY_KEY_REUSED: of('the idempotency key was used for another correction'),
  REQUEST_IN_PROGRESS: of('a correction with this idempotency key is still under way'),
  /** Neither a program nor any credit of the tenant has it. */
  UNIT_UNKNOWN: of<{ unit: string }>(
    ({ unit }, wordFor) =>
      `the tenant has no unit ${quoted(unit)}: correct it, or add ${wordFor('newUnit')}`,
    'unit',
  ),
  /** Over HTTP, another operator with the role finance approves. */
  APPROVER_REFUSED: of(
    '{approvedBy} must be another operator than the caller, with the role finance',
  ),

  PROPOSAL_NOT_FOUND: of('there is no such proposal'),
  PROPOSAL_IS_OWN: of(
    'a proposal is approved or rejected by another operator than the one who made it',
  ),
  PROPOSAL_OF_OTHERS: of('a proposal is withdrawn by the operator who made it'),
  /** `approved`, `rejected`, `withdrawn` or `lapsed`. */
  PROPOSAL_ENDED: of<{ state: string }>(({ state }) => `the proposal has ended: it is ${state}`),
  PROPOSAL_EXPIRED: of('the proposal was not approved within seven days: propose it again'),
  PROPOSAL_APPROVED: of('another operator has approved the proposal already'),
  PROPOSAL_WITHOUT_USER: of('the user of the proposal is forgotten'),

  BALANCES_WITHOUT_HEAD: of<{ source: string; head: string }>(
    ({ source, head }) => `${source} must begin with the line ${head}`,
    'balances',
  ),
  BALANCES_NOT_CSV: of<BalanceLine>(
    ({ source, line }) => `${source}: line ${line} is no CSV`,
    'balances',
  ),
  BALANCE_MALFORMED: of<BalanceLine>(
    ({ source, line }) =>
      `${source}: line ${line} is no account, unit and balance; a balance is a whole number such as 1250, or 12.50 for CENTS, without a separator of thousands`,
    'balances',
  ),
  BALANCE_REPEATED: of<BalanceLine>(
    ({ source, line }) => `${source}: line ${line} names an account and unit a second time`,
    'balances',
  ),

  NO_READ_MODELS: of('there are no read models yet: start the service once'),
  READ_MODELS_BEING_REBUILT: of(
    'the read models are being rebuilt: try again when the service is ready',
  ),
  ERASURES_BEING_CLEANED: of(
    'forgotten people are still being removed from the read models: try again in a moment',
  ),
  /** Without `resumeFrom` it continues at the beginning. */
  REPLAY_STOPPED: of<{ differences: number; accounts: number; resumeFrom: string | undefined }>(
    ({ differences, accounts, resumeFrom }, wordFor) => {
      const found = `stopped; ${differences} differences in ${accounts} accounts so far`;
      return resumeFrom === undefined
        ? found
        : `${found}; continue with ${wordFor('resumeFrom')} ${resumeFrom}`;
    },
  ),

  DIGEST_OF_OTHERS: of<Scope>(
    ({ tenant, mode }, wordFor) => `${wordFor('digest')} is of ${tenant} in ${mode} mode`,
  ),
  CHAIN_EMPTY: of<{ scope: Scope }>(
    ({ scope: { tenant, mode } }) => `the chain of ${tenant} has no events in ${mode} mode`,
  ),
  /** A digest on top of it would vouch for unverified events. */
  SEAL_NOT_SIGNED_HERE: of(
    'the newest seal of this chain was not signed by this installation: `ledger verify` says where the chain breaks',
  ),
  // The command line has its own text; over HTTP the run's state says it.
  RECONCILIATION_STOPPED: of('stopped before the end'),
  VERIFICATION_STOPPED: of('stopped before the end; no break was found so far'),
  NOTHING_LOST: of('nothing was lost: there is nothing to acknowledge'),

  REACTION_ID_MALFORMED: of<{ id: string }>(
    ({ id }) => `${quoted(id)} is no id of a parked reaction: see policy parked`,
  ),
  REACTION_NOT_PARKED: of<{ id: string }>(({ id }) => `nothing is parked under ${id}`),
  ENDPOINT_NOT_FOUND: of('there is no subscription of this URL', 'endpoint'),
  DELIVERY_NOT_FOUND: of('there is no such delivery'),
  MAIL_NOT_FOUND: of('there is no such mail'),
  EXPORT_NOT_FOUND: of('there is no such export'),
  THEME_REFUSED: of<ThemeRefused>(({ refused, details, waitMs }) => {
    const more = details.length - FAULTS_SHOWN;
    const shown = details.slice(0, FAULTS_SHOWN).join('; ');
    return ofDomain(
      refused,
      {
        THEME_NOT_FOUND: 'the locale has no values of its own',
        THEME_VERSION_NOT_FOUND: 'there is no such version, or it is too far back',
        THEME_TOO_LARGE: 'the values exceed 256 KiB as compact JSON',
        THEME_CHANGED_TOO_MUCH: `more of the themes was changed than a day allows: try again in ${Math.ceil((waitMs ?? 0) / 60_000)} minutes`,
      },
      more > 0 ? `${shown}; and ${more} more` : shown,
    );
  }, 'values'),

  PROJECTION_UNKNOWN: of<{ projection: string; known: readonly string[] }>(
    ({ projection, known }) =>
      `there is no projection ${quoted(projection)}; there are ${known.join(', ')}`,
    'projection',
  ),
  PROJECTIONS_STOPPED: of('stopped'),
  COPY_STOPPED: of('stopped; run the same command again to continue'),

  /** Of no code that callers act on. */
  REFUSED: of<{ reasons: readonly Reason[]; about?: readonly Argument[] }>(({ reasons }, wordFor) =>
    linesOf(reasons, wordFor).join('; '),
  ),
};

interface BalanceLine {
  source: string;
  line: number;
}

export type OperationRefusalCode = keyof typeof REFUSALS;

/** A code and its facts. */
export type OperationRefusal = {
  [C in OperationRefusalCode]: { readonly code: C } & Parameters<(typeof REFUSALS)[C]['text']>[0];
}[OperationRefusalCode];

// The line of a code takes the facts of that code, which the compiler cannot infer here.
const lineOf = ({ code }: OperationRefusal) => REFUSALS[code] as Line<OperationRefusal>;

/** One line for an operator that says why an operation was refused. */
export const refusalText = (refusal: OperationRefusal, wordFor: WordFor): string =>
  lineOf(refusal).text(refusal, wordFor);

/** The line with members named as in requests over HTTP. */
export const plainText = (refusal: OperationRefusal): string =>
  refusalText(refusal, (argument) => argument);

/** The members of a request that a refusal is about, named as over HTTP. */
export function membersOf(refusal: OperationRefusal): readonly Argument[] {
  if ('argument' in refusal) return [refusal.argument];
  if (refusal.code === 'REFUSED') return refusal.about ?? [];
  return refusal.code === 'NOT_ADJUSTED'
    ? (ADJUSTED.get(refusal.refused) ?? [])
    : lineOf(refusal).about;
}

/** What a refused correction is about. */
const ADJUSTED: ReadonlyMap<Refusal, readonly Argument[]> = new Map<Refusal, readonly Argument[]>([
  ['ACCOUNT_NOT_FOUND', ['account']],
  ['USER_NOT_FOUND', ['user']],
  ['AMOUNT_TOO_LARGE', ['amount']],
  ['REDEMPTION_NOT_POSSIBLE', ['amount']],
]);
