import type { Core } from '../../core/core.js';
import type { OpenAccount } from '../../domain/account/account-shapes.js';
import type { RewardPush } from '../../domain/account/reward-state.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { ProviderFailure, type ProviderCalls } from '../../payments/payment-provider.js';
import { accountsInLog } from '../ledger/ledger-entries.js';
import { NotDone, type Outcome } from '../outcome.js';
import { providerTenant, type PaymentCore, type PaymentWorld } from './payment-commands.js';

/**
 * `CREDIT`: the amounts of a reward's balance credit, in cents. `DISCOUNT`: the percentage. Null:
 * that side has none. `CONVERSION`: `PAID` where a paid invoice is known.
 */
export interface PaymentDifference {
  readonly account: string;
  readonly kind: 'CREDIT' | 'DISCOUNT' | 'CONVERSION';
  readonly ledger: number | 'PAID' | null;
  readonly provider: number | 'PAID' | null;
}

export interface PaymentReconciliation {
  readonly ok: boolean;
  /** The first thousand. */
  readonly differences: readonly PaymentDifference[];
  /** How many there are behind them. */
  readonly more?: number;
}

const LISTED_MAX = 1_000;

/** The first differences, and how many there are. */
class Differences {
  readonly listed: PaymentDifference[] = [];
  private more = 0;

  add(difference: PaymentDifference): void {
    if (difference.ledger === difference.provider) return;
    if (this.listed.length < LISTED_MAX) this.listed.push(difference);
    else this.more += 1;
  }

  found(): PaymentReconciliation {
    const { listed: differences, more } = this;
    return { ok: differences.length === 0, differences, ...(more > 0 && { more }) };
  }
}

interface Watched {
  readonly signal?: AbortSignal;
  readonly onProgress?: (accounts: number) => void;
}

type ReconciledCore = PaymentCore & Pick<Core, 'log' | 'names' | 'streams'>;

/** Compares what the ledger and the provider have of each linked account, one after the other. */
export async function reconcilePayments(
  core: ReconciledCore,
  { provider }: Pick<PaymentWorld, 'provider'>,
  scope: Scope,
  { signal, onProgress }: Watched = {},
): Promise<Outcome<PaymentReconciliation>> {
  const tenant = await providerTenant(core, scope);
  if (tenant instanceof NotDone) return tenant;
  const connection = await core.payments.current(tenant, scope.mode);
  if (connection === undefined) return stopped('no payment provider is connected');
  const calls = (await provider()).calls(connection);
  const differences = new Differences();
  let accounts = 0;
  const upTo = await core.log.head();
  try {
    for await (const { stream } of accountsInLog(core.log, core.names.accountStream(scope, ''), {
      upTo,
    })) {
      if (signal?.aborted) return stopped('it was cancelled');
      const { state } = await core.streams.accounts.load(stream);
      if (state.status === 'open' && state.paymentProviderId !== null)
        await compare(state, state.paymentProviderId, calls, differences);
      onProgress?.((accounts += 1));
    }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return stopped(`stopped: ${error.message}`);
  }
  return differences.found();
}

const stopped = (reason: string): NotDone => new NotDone({ code: 'PAYMENT_NOT_DONE', reason });

async function compare(
  state: OpenAccount,
  customer: string,
  calls: ProviderCalls,
  differences: Differences,
): Promise<void> {
  const account = state.accountId ?? '';
  const note = (
    kind: PaymentDifference['kind'],
    ledger: PaymentDifference['ledger'],
    provider: PaymentDifference['provider'],
  ): void => differences.add({ account, kind, ledger, provider });
  const pushed = [...state.rewards.values()].flatMap(({ rewardId, pushed: push }) =>
    push === undefined ? [] : [{ rewardId, push }],
  );
  const found = creditsOf(calls.rewardCredits(customer), state.rewards, (amount) =>
    note('CREDIT', null, amount),
  );
  const credits = await orMissing(found, new Map<string, number>());
  for (const { rewardId, push } of pushed) {
    // What is under way may be on one side only.
    if (push.status !== 'STARTED') note('CREDIT', creditOf(push), credits.get(rewardId) ?? null);
    credits.delete(rewardId);
  }
  for (const amount of credits.values()) note('CREDIT', null, amount);
  const lost = pushed.flatMap(({ push }) => discountNow(push));
  const discounts =
    lost.length === 0
      ? []
      : (await orMissing(calls.subscriptionsOf(customer), [])).flatMap((one) => one.discounts);
  for (const { reference, percent } of lost)
    note('DISCOUNT', percent, discounts.includes(reference) ? percent : null);
  const hasPaid = await orMissing(calls.hasPaid(customer), false);
  note('CONVERSION', state.everPaid ? 'PAID' : null, hasPaid ? 'PAID' : null);
}

/**
 * By reward.
 * @param other called for credits of rewards that no ledger has, beyond the first: a customer may
 * have any number.
 */
async function creditsOf(
  all: ReturnType<ProviderCalls['rewardCredits']>,
  rewards: OpenAccount['rewards'],
  other: (amount: number) => void,
): Promise<Map<string, number>> {
  const credits = new Map<string, number>();
  for await (const { rewardId, amount } of all) {
    const known = credits.get(rewardId);
    if (known !== undefined || rewards.has(rewardId) || credits.size < LISTED_MAX)
      credits.set(rewardId, (known ?? 0) + amount);
    else other(amount);
  }
  return credits;
}

/** A customer that the provider does not have, deleted or made up, has nothing there. */
async function orMissing<T>(asked: Promise<T>, nothing: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ProviderFailure && error.isMissing) return nothing;
    throw error;
  }
}

/** Null: no balance credit was paid. */
function creditOf({ status, calls }: RewardPush): number | null {
  if (status !== 'PUSHED') return null;
  const credits = (calls ?? []).flatMap((call) =>
    call.kind === 'BALANCE_CREDIT' ? [call.amount] : [],
  );
  return credits.length === 0 ? null : credits.reduce((sum, amount) => sum + amount, 0);
}

const SHORTEST_MONTH_MS = 28 * 24 * 3_600_000;

/** A discount that the provider still has. One of a single invoice ends with it. */
function discountNow({ status, calls, reference, at }: RewardPush) {
  const [call] = calls ?? [];
  if (status !== 'PUSHED' || reference === null || call?.kind !== 'DISCOUNT') return [];
  const endsAt = at + (call.months ?? 0) * SHORTEST_MONTH_MS;
  return timeNow() < endsAt ? [{ reference, percent: call.percent }] : [];
}
