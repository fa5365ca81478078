import type { Core } from '../../stores/core.js';
import type { OpenAccount } from '../../domain/account/account-shapes.js';
import type { RewardState } from '../../domain/account/rewards/reward-state.js';
import { belongsToOtherAccount } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import { ProviderFailure, type ProviderCalls } from '../../payments/payment-provider.js';
import { accountsInLog } from '../ledger/ledger-entries.js';
import { notDone } from '../outcome.js';
import type { RecordingContext } from '../registry/context.js';
import { formerRewards, type FormerRewards } from './former-rewards.js';
import { connected, type PaymentCore } from './payment-commands.js';

/**
 * `CREDIT`: the amounts of a reward's balance credit, in cents. `DISCOUNT`: the percentage. Null:
 * that side has none. `CONVERSION`: `PAID` where a paid invoice is known. `DUPLICATE`: a reward
 * that was paid more than once, with its amount and the sum of the balance credits.
 */
export interface PaymentDifference {
  readonly account: string;
  readonly kind: 'CREDIT' | 'DISCOUNT' | 'CONVERSION' | 'DUPLICATE';
  readonly ledger: number | 'PAID' | null;
  readonly provider: number | 'PAID' | null;
  /** Of a `DUPLICATE`: the provider's ids of the reward's balance credits. */
  readonly transactions?: readonly string[];
}

export type PaymentReconciliation = ReturnType<Differences['found']>;

const LISTED_MAX = 1_000;

/** The first differences, and how many there are. */
class Differences {
  readonly listed: PaymentDifference[] = [];
  private more = 0;

  of({ accountId }: OpenAccount): Note {
    return (kind, ledger, provider, transactions) => {
      if (ledger === provider) return;
      const difference = { account: accountId ?? '', kind, ledger, provider };
      if (this.listed.length >= LISTED_MAX) this.more += 1;
      else this.listed.push({ ...difference, ...(transactions && { transactions }) });
    };
  }

  found() {
    const { listed: differences, more } = this;
    return {
      ok: differences.length === 0,
      /** The first thousand. */
      differences,
      /** How many there are behind them. */
      ...(more > 0 && { more }),
    };
  }
}

type ReconciledCore = PaymentCore & Pick<Core, 'log' | 'names' | 'streams' | 'codec'>;

/** Compares what the ledger and the provider have of each linked account, one after the other. */
export async function reconcilePayments({
  core,
  payments: { provider },
  scope,
  signal,
  onProgress,
}: RecordingContext) {
  const connection = await connected(core, scope);
  const calls = (await provider()).calls(connection);
  const differences = new Differences();
  let accounts = 0;
  const upTo = await core.log.head();
  try {
    const prefix = core.names.accountStream(scope, '');
    for await (const { stream } of accountsInLog(core.log, prefix, { upTo })) {
      if (signal.aborted) throw notDone('it was cancelled');
      const { state } = await core.streams.accounts.load(stream);
      if (state.status === 'open' && state.paymentProviderId !== null) {
        const ofAccount = await callsOf(core, scope, state, calls);
        await compareAccount(state, state.paymentProviderId, ofAccount, differences.of(state));
      }
      onProgress('comparing', (accounts += 1));
    }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    throw notDone(`stopped: ${error.message}`);
  }
  return { result: differences.found(), parameters: {} };
}

/** Without the invoices that another account of the customer had. */
async function callsOf(
  core: ReconciledCore,
  scope: Scope,
  { account, paymentProviderId }: OpenAccount,
  calls: ProviderCalls,
): Promise<ComparedCalls> {
  const { streams, names } = core;
  const customer = paymentProviderId ?? '';
  const { state } = await streams.customers.load(names.customerStream(scope, customer));
  let former: Promise<FormerRewards> | undefined;
  return {
    ...calls,
    now: await core.tenants.now(scope),
    formerRewards: () => (former ??= formerRewards(core, scope, customer)),
    async *paidInvoices(customer) {
      for await (const invoice of calls.paidInvoices(customer)) {
        const ref = names.providerObjectRef(scope, 'invoice', invoice);
        if (!belongsToOtherAccount(state, ref, account)) yield invoice;
      }
    },
  };
}

export type Note = (
  kind: PaymentDifference['kind'],
  ledger: PaymentDifference['ledger'],
  provider: PaymentDifference['provider'],
  transactions?: readonly string[],
) => void;

type ComparedCalls = Pick<
  ProviderCalls,
  'rewardCredits' | 'subscriptionsOf' | 'discountsFor' | 'paidInvoices'
> & {
  /** The ledger's time, which dates the calls: in test mode that of the test clock. */
  readonly now: number;
  /** Read from the log when the provider has a credit that is of no reward of the account. */
  formerRewards(): Promise<FormerRewards>;
};

/** @param note called with what both sides have of the account. */
export async function compareAccount(
  state: OpenAccount,
  customer: string,
  calls: ComparedCalls,
  note: Note,
): Promise<void> {
  const rewards = [...state.rewards.values()].filter(
    ({ pushed, paid }) => pushed !== undefined || paid !== undefined,
  );
  const isKnown = async (rewardId: string) =>
    state.rewards.has(rewardId) || (await calls.formerRewards()).has(rewardId);
  const found = creditsOf(calls.rewardCredits(customer), isKnown, (amount) =>
    note('CREDIT', null, amount),
  );
  const credits = await orMissing(found, new Map<string, FoundCredit>());
  for (const reward of rewards) {
    // What is under way may be on one side only.
    if (reward.pushed?.status !== 'STARTED')
      compareCredit(creditOf(reward), credits.get(reward.rewardId), note);
    credits.delete(reward.rewardId);
  }
  const former = credits.size > 0 ? await calls.formerRewards() : new Map<string, number | null>();
  for (const [rewardId, found] of credits)
    compareCredit(formerCredit(former.get(rewardId), found), found, note);
  const discounts = rewards.flatMap((reward) => discountAt(calls.now, reward));
  await compareDiscounts(discounts, customer, calls, note);
  const hasPaid = await orMissing(isAny(calls.paidInvoices(customer)), false);
  note('CONVERSION', state.everPaid ? 'PAID' : null, hasPaid ? 'PAID' : null);
}

async function isAny(all: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _ of all) return true;
  return false;
}

/** A reward's balance credit, as the ledger has it. */
interface LedgerCredit {
  readonly amount: number;
  /** The provider's id; null: the ledger has none. */
  readonly reference: string | null;
}

/** The balance credits of one reward at the provider. */
interface FoundCredit {
  readonly amount: number;
  /** The provider's ids. */
  readonly transactions: readonly string[];
}

/** Of an amount that is erased a single credit is taken as it is. */
function formerCredit(amount: number | null | undefined, found: FoundCredit): LedgerCredit | null {
  const isTaken = amount === null && found.transactions.length === 1;
  const known = isTaken ? found.amount : (amount ?? null);
  return known === null ? null : { amount: known, reference: null };
}

function compareCredit(
  ledger: LedgerCredit | null,
  found: FoundCredit | undefined,
  note: Note,
): void {
  const isSameAmount = ledger?.amount === found?.amount;
  if (found !== undefined && !isSameAmount && found.transactions.length > 1)
    return note('DUPLICATE', ledger?.amount ?? null, found.amount, found.transactions);
  const reference = ledger?.reference ?? null;
  const isAnother =
    found !== undefined && reference !== null && !found.transactions.includes(reference);
  if (!isSameAmount || !isAnother)
    return note('CREDIT', ledger?.amount ?? null, found?.amount ?? null);
  note('CREDIT', ledger?.amount ?? null, null);
  note('CREDIT', null, found.amount);
}

/** What is missing on the subscriptions that are not over may have ended with its own. */
async function compareDiscounts(
  kept: readonly LedgerDiscount[],
  customer: string,
  calls: ComparedCalls,
  note: Note,
): Promise<void> {
  if (kept.length === 0) return;
  const open = await orMissing(calls.subscriptionsOf(customer), []);
  const references = new Set(open.flatMap(({ discounts }) => discounts));
  for (const { rewardId, reference, subscription, percent } of kept) {
    if (references.has(reference)) continue;
    const added = await orMissing(calls.discountsFor(customer, rewardId), []);
    if (added.some((one) => one.reference === reference && isOn(one.subscription, open))) continue;
    // Of several subscriptions the ledger names the discount of the first.
    const named = added.filter((one) => one.subscription === subscription);
    const ended = named.length > 0 ? named : added;
    if (ended.length === 0 || !ended.every(({ hasEnded }) => hasEnded))
      note('DISCOUNT', percent, null);
  }
}

type Subscriptions = Awaited<ReturnType<ProviderCalls['subscriptionsOf']>>;

/**
 * Whether a discount that the ledger knows by its terms exists: after a loss of the log's end it
 * was found by the reward's id, which is stored with the terms.
 */
const isOn = (subscription: string, open: Subscriptions): boolean =>
  open.some(({ id, discounts }) => id === subscription && discounts.length > 0);

/**
 * By reward.
 * @param other called for credits of rewards that no ledger has, beyond the first: a customer may
 * have any number.
 */
async function creditsOf(
  all: ReturnType<ProviderCalls['rewardCredits']>,
  isKnown: (rewardId: string) => Promise<boolean>,
  other: (amount: number) => void,
): Promise<Map<string, FoundCredit>> {
  const credits = new Map<string, FoundCredit>();
  for await (const { id, rewardId, amount } of all) {
    const known = credits.get(rewardId);
    if (known === undefined && credits.size >= LISTED_MAX && !(await isKnown(rewardId))) {
      other(amount);
      continue;
    }
    const { amount: sum, transactions } = known ?? NO_CREDIT;
    credits.set(rewardId, { amount: sum + amount, transactions: [...transactions, id] });
  }
  return credits;
}

const NO_CREDIT: FoundCredit = { amount: 0, transactions: [] };

/** A customer that the provider does not have, deleted or made up, has nothing there. */
async function orMissing<T>(asked: Promise<T>, nothing: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ProviderFailure && error.isMissing) return nothing;
    throw error;
  }
}

/**
 * Of credit the redemption; of a discount that was paid as credit the call, since it has no
 * redemption. Null: no balance credit was paid.
 */
function creditOf({ value, paid, pushed }: RewardState): LedgerCredit | null {
  if (value.type === 'CREDIT') return paid ?? null;
  if (pushed?.status !== 'PUSHED') return null;
  const credits = (pushed.calls ?? []).flatMap((call) =>
    call.kind === 'BALANCE_CREDIT' ? [call.amount] : [],
  );
  if (credits.length === 0) return null;
  return { amount: credits.reduce((sum, amount) => sum + amount, 0), reference: pushed.reference };
}

const SHORTEST_MONTH_MS = 28 * 24 * 3_600_000;

type LedgerDiscount = ReturnType<typeof discountAt>[number];

/** A discount whose months are not over. One of a single invoice ends with it. */
function discountAt(now: number, { rewardId, pushed }: RewardState) {
  const [call] = pushed?.calls ?? [];
  if (pushed?.status !== 'PUSHED' || pushed.reference === null || call?.kind !== 'DISCOUNT')
    return [];
  const endsAt = pushed.at + (call.months ?? 0) * SHORTEST_MONTH_MS;
  if (now >= endsAt) return [];
  const { subscription, percent } = call;
  return [{ rewardId, reference: pushed.reference, subscription, percent }];
}
