import {
  PeriodPostings,
  upToLastWithin,
  type Span as PeriodSpan,
} from '../../bookkeeping/period-postings.js';
import { POSTED_TYPES, type Posting } from '../../bookkeeping/postings.js';
import { faultsOf, RollForwardSums } from '../../bookkeeping/roll-forward.js';
import { effectOn } from '../../bookkeeping/statement.js';
import type { Core } from '../../stores/core.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { Scope } from '../../domain/scope.js';
import type { Decoded } from '../../event-log/codec.js';
import { digestOf } from '../../foundation/canonical-json.js';
import { CLOCK_AHEAD_MS_MAX } from '../../event-log/clock.js';
import { pages } from '../../event-log/event-pages.js';
import { NotDone, type Outcome } from '../outcome.js';
import type { BalanceFile } from './balance-file.js';
import {
  ACCOUNTS_AT_ONCE,
  accountsInLog,
  decodeTypes,
  entryOf,
  pagesOf,
  POSTED,
  type LogReads,
  type Work,
} from './ledger-entries.js';
import { parsePeriod } from './ledger-selection.js';
import { OWED_REWARD_TYPES, OwedRewards, type AccountFact } from './owed-rewards.js';

export type Reconciliation = ReturnType<ReconciliationRun['result']>;

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

/** Policies and jobs may be this late without a difference. */
const GRACE_MS = 60_000;
const OVERDUE_MS = 3_600_000;

type Span = Pick<PeriodSpan, 'from' | 'to'>;

export interface ReconciliationWork extends Work {
  /** Epoch milliseconds. */
  readonly now?: number;
}

/**
 * `ledger reconcile`, with what its audit event contains. Reads every account once.
 * @param request of everything up to now, or of a month, `YYYY-MM`.
 * @throws {UnreadableEvent}
 */
export async function reconcileLedger(
  core: LogReads & Pick<Core, 'names'>,
  scope: Scope,
  { period, against }: { readonly period?: string; readonly against?: BalanceFile },
  work: ReconciliationWork = {},
) {
  const { signal, now = Date.now() } = work;
  const span = spanOf(period, now);
  if (span instanceof NotDone) return span;
  const run = new ReconciliationRun(span, now, against);
  const accounts = everyAccount(core, scope, { types: READ_TYPES, phase: 'reconciling' }, work);
  for await (const account of accounts) run.add(account);
  if (signal?.aborted) return new NotDone({ code: 'RECONCILIATION_STOPPED' });
  return {
    result: run.result(),
    parameters: { period, against: against && digestOf(against.text) },
  };
}

/** An account and its events of some types. */
type AccountHistory = Awaited<ReturnType<typeof readAccount>>;

/** The accounts of a tenant and mode, in the order of the log; fewer when it is stopped. */
export async function* everyAccount(
  core: LogReads & Pick<Core, 'names'>,
  scope: Scope,
  { types, phase }: { readonly types: ReadonlySet<string>; readonly phase: string },
  { onProgress, giveWay, signal }: Work,
): AsyncIterable<AccountHistory> {
  const { log, names } = core;
  const upTo = await log.head();
  let accounts = 0;
  const firstEvents = accountsInLog(log, names.accountStream(scope, ''), { upTo });
  for await (const some of pagesOf(firstEvents, ACCOUNTS_AT_ONCE)) {
    yield* await Promise.all(some.map(({ stream }) => readAccount(core, stream, types)));
    onProgress?.(phase, (accounts += some.length));
    await giveWay?.();
    if (signal?.aborted) return;
  }
}

/** @param name `YYYY-MM`, in UTC; undefined: everything. @param now epoch milliseconds. */
export function spanOf(name: string | undefined, now: number): Outcome<Span> {
  if (name === undefined) return { from: -Infinity, to: Infinity };
  const period = parsePeriod(name);
  if (period instanceof NotDone) return period;
  return period.from > now ? new NotDone({ code: 'PERIOD_NOT_BEGUN', period: name }) : period;
}

const READ_TYPES: ReadonlySet<string> = new Set<AccountEvent['type']>([
  ...POSTED_TYPES,
  ...OWED_REWARD_TYPES,
  'AccountOpened',
]);

export async function readAccount(
  { log, codec }: LogReads,
  stream: string,
  types: ReadonlySet<string>,
) {
  const decoded: Decoded[] = [];
  for await (const page of pages(log.readStream(stream)))
    decoded.push(...(await decodeTypes(codec, page, types)));
  const opened = decoded.findLast(({ event }) => event.type === 'AccountOpened')?.event;
  return {
    /** The client's id; null: forgotten. */
    accountId: opened?.type === 'AccountOpened' ? opened.accountId.value : null,
    decoded,
  };
}

const factOf = ({ event, envelope, recorded }: Decoded): AccountFact => ({
  event: event as AccountEvent,
  eventId: recorded.id,
  recordedAt: recorded.recordedAt,
  byPolicy: envelope.actor.kind === 'policy',
});

/** The account's state at the end of the span. */
export function postAccount(
  decoded: readonly Decoded[],
  span: PeriodSpan,
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
  for (const entry of upToLastWithin(entries, span.to)) period.post(entry);
  period.end();
  return { postings, available, scheduled };
}

class ReconciliationRun {
  private readonly sums = new RollForwardSums();
  private readonly owed = new OwedRewards();
  private readonly differences: ReconciliationDifference[] = [];
  private readonly notSeen: Set<string>;

  constructor(
    private readonly span: Span,
    private readonly now: number,
    private readonly against: BalanceFile | undefined,
  ) {
    this.notSeen = new Set(against?.accounts.keys());
  }

  add({ accountId, decoded }: AccountHistory): void {
    this.owed.add(accountId ?? 'anonymous', decoded.map(factOf));
    const posted = this.post(decoded);
    if (accountId !== null) this.tieOut(accountId, posted);
  }

  result() {
    for (const account of this.notSeen)
      for (const { unit, balance } of this.against?.accounts.get(account)?.values() ?? [])
        if (balance !== 0) this.differ({ kind: 'balance', account, unit, against: balance });
    const missing = this.owed.missing(this.now - GRACE_MS, this.now + CLOCK_AHEAD_MS_MAX);
    for (const { kind, account, what: unit, amount: ledger, eventId } of missing)
      this.differ({ kind, account, unit, ledger, eventIds: [eventId] });
    const { units, tooLarge } = this.sums.result();
    for (const unit of tooLarge) this.differ({ kind: 'too-large', unit });
    for (const figures of units)
      for (const fault of faultsOf(figures)) this.differ({ ...fault, unit: figures.unit });
    const { differences } = this;
    return { ok: differences.length === 0, units, differences };
  }

  /** The account's state at the end of the span. */
  private post(decoded: readonly Decoded[]) {
    const clock = Math.min(this.span.to, this.now);
    const posted = postAccount(decoded, { ...this.span, clock }, (posting, unit, isWithin) =>
      this.sums.addPosting(posting, unit, isWithin),
    );
    const { postings } = posted;
    for (const { unitKey } of postings.overdue(clock - OVERDUE_MS))
      this.sums.addOverdue(unitKey, postings.units.get(unitKey) ?? unitKey);
    return posted;
  }

  private tieOut(account: string, { postings, available }: ReturnType<typeof postAccount>): void {
    if (this.against === undefined) return;
    const inFile = this.against.accounts.get(account);
    this.notSeen.delete(account);
    const present = postings.unitsOfThePresent();
    for (const unitKey of new Set([...present, ...(inFile?.keys() ?? [])])) {
      const ledger = available.get(unitKey) ?? 0;
      const said = inFile?.get(unitKey);
      if ((said?.balance ?? 0) !== ledger)
        this.differ({
          kind: 'balance',
          account,
          unit: postings.units.get(unitKey) ?? said?.unit ?? unitKey,
          ledger,
          against: said?.balance ?? null,
        });
    }
  }

  private differ({
    kind,
    ...found
  }: Pick<ReconciliationDifference, 'kind'> & Partial<ReconciliationDifference>): void {
    const none = { account: null, unit: null, ledger: null, against: null, eventIds: [] };
    this.differences.push({ kind, ...none, ...found });
  }
}
