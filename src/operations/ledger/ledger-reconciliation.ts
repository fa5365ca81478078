import { PeriodPostings, entriesWithin, type Span } from '../../bookkeeping/period-postings.js';
import { POSTED_TYPES, type Posting } from '../../bookkeeping/postings.js';
import { faultsOf, RollForwardSums } from '../../bookkeeping/roll-forward.js';
import { effectOn } from '../../bookkeeping/statement.js';
import type { Core } from '../../stores/core.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { Scope } from '../../domain/scope.js';
import type { Decoded } from '../../event-log/codec.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { CLOCK_AHEAD_MS_MAX } from '../../event-log/clock.js';
import { timeNow } from '../../foundation/world.js';
import { notDoneAbout } from '../outcome.js';
import type { BalanceFile } from './balance-file.js';
import {
  ACCOUNTS_AT_ONCE,
  accountsInLog,
  decodedIn,
  entryOf,
  type LogReads,
  pagesOf,
  POSTED,
  type Work,
} from './ledger-entries.js';
import { parsePeriod } from './ledger-selection.js';
import { OWED_REWARD_TYPES, OwedRewards } from './owed-rewards.js';
import { Stopped } from '../log/log-reader.js';

export type Reconciliation = Awaited<ReturnType<typeof reconcileLedger>>['result'];

/**
 * `balance`: the file has another balance, or one side lacks the account (null). `conversion`,
 * `event-reward`: a referral, or an event of its referred user, earned a reward that was neither
 * granted nor withheld; `unit` describes it, `ledger` is the amount of credit, `eventIds` names the
 * event that earned it. `roll-forward`, `trial-balance`: the ledger's own figures contradict each
 * other. `too-large`: the sums of a unit, which is not among `units`, cannot be represented.
 */
export interface ReconciliationDifference {
  readonly kind: string;
  readonly account: string | null;
  readonly unit: string | null;
  readonly ledger: number | null;
  readonly against: number | null;
  readonly eventIds: readonly string[];
}

type Found = Pick<ReconciliationDifference, 'kind'> & Partial<ReconciliationDifference>;

const difference = ({ kind, ...found }: Found): ReconciliationDifference => {
  const none = { account: null, unit: null, ledger: null, against: null, eventIds: [] };
  return { kind, ...none, ...found };
};

/** Policies and jobs may be this late without a difference. */
const GRACE_MS = 60_000;
const OVERDUE_MS = 3_600_000;

/**
 * `ledger reconcile`, with what its audit event contains. Reads every account once.
 * @param request of everything up to now, or of a month, `YYYY-MM`.
 * @throws {UnreadableEvent}
 */
export async function reconcileLedger(
  core: LogReads & Pick<Core, 'names' | 'tenants'>,
  scope: Scope,
  { period, against }: { readonly period?: string; readonly against?: BalanceFile },
  work: Work = {},
) {
  const { signal } = work;
  const real = timeNow();
  const now = await core.tenants.now(scope, real);
  // A test clock may have passed many dates a moment ago.
  const overdueAt = now > real ? -Infinity : now - OVERDUE_MS;
  const span = spanOf(period, now);
  const clock = Math.min(span.to, now);
  const sums = new RollForwardSums();
  const owed = new OwedRewards();
  const found: Found[] = [];
  const notSeen = new Map(against?.accounts);
  let compared = 0;
  for await (const { accountId, decoded } of everyAccount(core, scope, 'reconciling', work)) {
    owed.add(accountId ?? 'anonymous', decoded);
    const posted = postAccount(decoded, { ...span, clock }, (posting, unit, isWithin) =>
      sums.addPosting(posting, unit, isWithin),
    );
    const { postings } = posted;
    for (const { unitKey } of postings.overdue(Math.min(overdueAt, clock - OVERDUE_MS)))
      sums.addOverdue(unitKey, postings.units.get(unitKey) ?? unitKey);
    if (against === undefined || accountId === null) continue;
    const inFile = against.accounts.get(accountId);
    compared += unitsOfBoth(posted, inFile).length;
    found.push(...untied(accountId, posted, inFile));
    notSeen.delete(accountId);
  }
  if (signal?.aborted) throw new Stopped();
  for (const [account, inFile] of notSeen)
    for (const { unit, balance } of inFile.values()) {
      compared += 1;
      if (balance !== 0) found.push({ kind: 'balance', account, unit, against: balance });
    }
  for (const missing of owed.missing(real - GRACE_MS, real + CLOCK_AHEAD_MS_MAX)) {
    const { kind, account, what: unit, amount: ledger, eventId } = missing;
    found.push({ kind, account, unit, ledger, eventIds: [eventId] });
  }
  const { units, tooLarge } = sums.result();
  found.push(...tooLarge.map((unit) => ({ kind: 'too-large', unit })));
  for (const figures of units)
    found.push(...faultsOf(figures).map((fault) => ({ ...fault, unit: figures.unit })));
  const differences = found.map(difference);
  return {
    result: {
      ok: differences.length === 0,
      units,
      differences,
      /** Pairs of account and unit that the ledger or the file has; absent without a file. */
      ...(against && { compared }),
    },
    parameters: { period, against: against && digestOf(against.text) },
  };
}

/** The accounts of a tenant and mode, in the order of the log; fewer when it is stopped. */
export async function* everyAccount(
  core: LogReads & Pick<Core, 'names'>,
  scope: Scope,
  phase: string,
  { onProgress, pauseForRequests, signal }: Work,
) {
  const { log, names } = core;
  const upTo = await log.head();
  let accounts = 0;
  const firstEvents = accountsInLog(log, names.accountStream(scope, ''), { upTo });
  for await (const some of pagesOf(firstEvents, ACCOUNTS_AT_ONCE)) {
    yield* await Promise.all(some.map(({ stream }) => readAccount(core, stream)));
    onProgress?.(phase, (accounts += some.length));
    await pauseForRequests?.();
    if (signal?.aborted) return;
  }
}

/** @param name `YYYY-MM`, in UTC; undefined: everything. @param now epoch milliseconds. */
export function spanOf(name: string | undefined, now: number): Pick<Span, 'from' | 'to'> {
  if (name === undefined) return { from: -Infinity, to: Infinity };
  const period = parsePeriod(name);
  if (period.from > now) throw notDoneAbout('period', `the period ${name} has not begun yet`);
  return period;
}

const READ_TYPES: ReadonlySet<string> = new Set<AccountEvent['type']>([
  ...POSTED_TYPES,
  ...OWED_REWARD_TYPES,
  'AccountOpened',
]);

/** What is reconciled of an account. */
export async function readAccount(core: LogReads, stream: string) {
  const decoded: Decoded[] = [];
  for await (const one of decodedIn(core, stream, READ_TYPES)) decoded.push(one);
  const opened = decoded.findLast(({ event }) => event.type === 'AccountOpened')?.event;
  return {
    /** The client's id; null: forgotten. */
    accountId: opened?.type === 'AccountOpened' ? opened.accountId.value : null,
    decoded,
  };
}

/** The account's state at the end of the span. */
export function postAccount(
  decoded: readonly Decoded[],
  span: Span,
  take?: (posting: Posting, unit: string, isWithin: boolean) => void,
) {
  // The credit at the end of the span and that of later, by unit in lower case.
  const [available, scheduled] = [new Map<string, number>(), new Map<string, number>()];
  const move = (to: Map<string, number>, unitKey: string, by: number): void =>
    void to.set(unitKey, (to.get(unitKey) ?? 0) + by);
  const period = new PeriodPostings(span, (made, isWithin) => {
    for (const posting of made) {
      const { unitKey } = posting;
      move(available, unitKey, effectOn('available', posting));
      move(scheduled, unitKey, effectOn('scheduled', posting));
      take?.(posting, postings.units.get(unitKey) ?? unitKey, isWithin);
    }
  });
  const { postings } = period;
  const entries = decoded.filter(({ event }) => POSTED.has(event.type)).map(entryOf);
  for (const entry of entriesWithin(entries, span.to)) period.post(entry);
  period.end();
  return { postings, available, scheduled };
}

type Posted = Pick<ReturnType<typeof postAccount>, 'postings' | 'available'>;
type UnitsInFile = ReadonlyMap<string, { readonly unit: string; readonly balance: number }>;

/** The units of an account in the ledger or in the file. */
const unitsOfBoth = ({ postings }: Pick<Posted, 'postings'>, inFile: UnitsInFile = new Map()) => [
  ...new Set([...postings.presentUnits(), ...inFile.keys()]),
];

/** The units of an account whose balance in the file is another one. */
const untied = (
  account: string,
  { postings, available }: Posted,
  inFile: UnitsInFile = new Map(),
): readonly Found[] =>
  unitsOfBoth({ postings }, inFile).flatMap((unitKey) => {
    const ledger = available.get(unitKey) ?? 0;
    const said = inFile.get(unitKey);
    const unit = postings.units.get(unitKey) ?? said?.unit ?? unitKey;
    const against = said?.balance ?? null;
    return (against ?? 0) === ledger ? [] : [{ kind: 'balance', account, unit, ledger, against }];
  });
