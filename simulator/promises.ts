import type { AccountEvent } from '../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  unitKey,
  type AccountState,
  type OpenAccount,
} from '../src/domain/account/account.state.js';
import { availableCredit } from '../src/domain/account/redemption.js';
import type { ModerationItem } from '../src/domain/moderation/moderation.decider.js';
import type { Decoded } from '../src/event-log/codec.js';
import { accountRefOf } from '../src/privacy/keyed-names.js';

/** An account as the log tells it, told apart from the state by which the service decides. */
export interface TracedAccount {
  readonly account: string;
  readonly state: AccountState;
  readonly events: readonly Decoded[];
}

interface TracedReward {
  readonly assigned: number;
  readonly unit: string | null;
  redeemed: number;
  isCancelled: boolean;
  isRestorable: boolean;
}

/** Folds every account of a log. */
export function traceAccounts(log: readonly Decoded[]): ReadonlyMap<string, TracedAccount> {
  const accounts = new Map<string, { state: AccountState; events: Decoded[] }>();
  for (const decoded of log) {
    const account = accountRefOf(decoded.recorded.stream);
    if (account === undefined) continue;
    const traced = accounts.get(account) ?? { state: initialState, events: [] };
    accounts.set(account, traced);
    traced.state = evolve(traced.state, decoded.event as AccountEvent);
    traced.events.push(decoded);
  }
  return new Map(
    [...accounts].map(([account, traced]) => [account, { account, ...traced }] as const),
  );
}

const ONCE: ReadonlySet<AccountEvent['type']> = new Set([
  ...(['AccountOpened', 'AccountAttributed', 'PaymentProviderIdSet'] as const),
  ...(['ReferralStarted', 'ReferralConverted', 'ReferralEnded'] as const),
]);

/** What an account's events break, by the events alone. */
export function brokenByAccount({ account, events, state }: TracedAccount): string[] {
  const broken: string[] = [];
  const rewards = new Map<string, TracedReward>();
  const granted = new Set<string>();
  const bulk = new Map<string, { amount: number; listed: number }>();
  const redemptions = new Set<string>();
  let once = new Set<string>();
  const redeem = (rewardId: string, amount: number): void => {
    const reward = rewards.get(rewardId);
    if (!reward) {
      broken.push(`${account}: ${rewardId} is redeemed and was never granted`);
      return;
    }
    reward.redeemed += amount;
    if (amount <= 0 || reward.redeemed > reward.assigned)
      broken.push(`${account}: ${reward.redeemed} of ${reward.assigned} of ${rewardId} are redeemed`);
    if (reward.isCancelled) broken.push(`${account}: ${rewardId} is cancelled and redeemed`);
  };
  const redeemedOnce = (redemptionId: string): void => {
    if (redemptions.has(redemptionId)) broken.push(`${account}: ${redemptionId} is redeemed twice`);
    redemptions.add(redemptionId);
  };
  for (const { event: any } of events) {
    const event = any as AccountEvent;
    if (ONCE.has(event.type)) {
      if (once.has(event.type)) broken.push(`${account}: ${event.type} twice`);
      once.add(event.type);
    }
    switch (event.type) {
      case 'ErasureRequested':
        if (event.account !== null) once = new Set();
        break;
      case 'RewardGranted': {
        const cause = `${event.source} ${event.referralId ?? ''} ${event.rule ?? ''}`;
        if (rewards.has(event.rewardId)) broken.push(`${account}: ${event.rewardId} granted twice`);
        if (event.referralId !== null && event.source !== 'EVENT') {
          // A moderation may grant again what an earlier one has cancelled: under another id.
          if (granted.has(cause) && event.source === 'FRIEND_SIGNUP')
            broken.push(`${account}: ${cause} is paid twice`);
          granted.add(cause);
        }
        const { value } = event;
        rewards.set(event.rewardId, {
          assigned: value.type === 'CREDIT' ? value.assignedCredit : 0,
          unit: value.type === 'CREDIT' ? unitKey(value.unit) : null,
          redeemed: 0,
          isCancelled: false,
          isRestorable: false,
        });
        break;
      }
      case 'CreditRedeemed':
        redeem(event.rewardId, event.amount);
        // A correction takes from several rewards at once.
        if (!event.adjustment) redeemedOnce(event.redemptionId);
        break;
      case 'AccountCreditRedeemed':
        redeemedOnce(event.redemptionId);
        bulk.set(event.redemptionId, { amount: event.amount, listed: 0 });
        break;
      case 'RedeemedRewardsListed': {
        const of = bulk.get(event.redemptionId);
        for (const [rewardId, , amount] of event.lines) {
          redeem(rewardId, amount);
          if (of) of.listed += amount;
        }
        if (!of || of.listed > of.amount)
          broken.push(`${account}: more is listed than ${event.redemptionId} redeemed`);
        break;
      }
      case 'RewardCancelled': {
        const reward = rewards.get(event.rewardId);
        if (reward) {
          if (reward.isCancelled && event.amount > 0)
            broken.push(`${account}: ${event.rewardId} is cancelled twice`);
          if (reward.redeemed > 0)
            broken.push(`${account}: ${event.rewardId} is redeemed and cancelled`);
          reward.isCancelled = true;
        }
        break;
      }
      case 'RewardRestored': {
        const reward = rewards.get(event.rewardId);
        if (reward) reward.isCancelled = false;
        break;
      }
      default:
    }
  }
  if (state.remains.unlisted.size > 0) broken.push(`${account}: a redemption is not listed`);
  if (state.remains.erasures.size > 0) broken.push(`${account}: an erasure is not complete`);
  if (state.status === 'open') broken.push(...brokenByState(account, state));
  return broken;
}

function brokenByState(account: string, state: OpenAccount): string[] {
  const broken: string[] = [];
  for (const reward of state.rewards.values()) {
    const assigned = reward.value.type === 'CREDIT' ? reward.value.assignedCredit : 0;
    if (reward.redeemed < 0 || reward.redeemed > assigned)
      broken.push(`${account}: the state has ${reward.redeemed} of ${assigned} redeemed`);
  }
  return broken;
}

/** What is broken between accounts, in a world at rest. */
export function brokenBetweenAccounts(
  log: readonly Decoded[],
  accounts: ReadonlyMap<string, TracedAccount>,
  now: number,
): string[] {
  const broken: string[] = [];
  const owners = new Map<string, string>();
  const payers = new Map<string, string>();
  for (const { account, state, events } of accounts.values()) {
    if (state.status !== 'open') continue;
    for (const { person, codes } of state.users.values())
      for (const code of codes.keys()) {
        const owner = owners.get(code);
        if (owner !== undefined && owner !== person) broken.push(`the code ${code} has two owners`);
        owners.set(code, person);
      }
    if (state.paymentProviderId !== null) {
      const payer = payers.get(state.paymentProviderId);
      if (payer !== undefined) broken.push(`${state.paymentProviderId} belongs to two accounts`);
      payers.set(state.paymentProviderId, account);
    }
    if (state.holds.size > 0) broken.push(`${account}: a moderation holds it for ever`);
    for (const unit of ['cents', 'points'])
      if (availableCredit(state, unit, now) < 0) broken.push(`${account}: a balance below zero`);
    broken.push(...owedBy(events, accounts), ...overdue(account, state, now));
  }
  return [...broken, ...halfModerated(log)];
}

const DAY_MS = 86_400_000;

/** Scheduled rewards whose date has long passed. */
const overdue = (account: string, { rewards }: OpenAccount, now: number): string[] =>
  [...rewards.values()].flatMap(({ rewardId, phase, dateScheduledFor, dateCancelled }) =>
    phase === 'SCHEDULED' && dateCancelled === null && (dateScheduledFor ?? 0) < now - DAY_MS
      ? [`${account}: ${rewardId} is still scheduled`]
      : [],
  );

/** A moderation that was agreed to is applied to each of its referrals, a refused one to none. */
function halfModerated(log: readonly Decoded[]): string[] {
  const moderations = new Map<string, { items: readonly ModerationItem[]; isAgreed: boolean }>();
  const applied = new Set<string>();
  for (const { event } of log) {
    if (event.type === 'ModerationRequested')
      moderations.set(event.moderationId, { items: event.items, isAgreed: false });
    const known = 'moderationId' in event ? moderations.get(event.moderationId) : undefined;
    if (event.type === 'ModerationAgreed' && known) known.isAgreed = true;
    if (event.type === 'ReferralModerated') applied.add(`${event.moderationId} ${event.referralId}`);
  }
  return [...moderations].flatMap(([moderationId, { items, isAgreed }]) =>
    items.flatMap(({ referralId }) => {
      const isApplied = applied.has(`${moderationId} ${referralId}`);
      if (isApplied && !isAgreed) return [`${moderationId}: ${referralId} is moderated, unagreed`];
      return [];
    }),
  );
}

/** A referral that converted with both sides approved pays its referrer, if that one still is. */
function owedBy(
  events: readonly Decoded[],
  accounts: ReadonlyMap<string, TracedAccount>,
): string[] {
  return events.flatMap(({ event: any }) => {
    const event = any as AccountEvent;
    if (event.type !== 'ReferralConverted' || event.referrerReward === null) return [];
    if (event.referrerStatus !== 'APPROVED') return [];
    const referrer = accounts.get(event.referrer.account);
    const isSettled = referrer?.events.some(({ event: other }) => {
      const fact = other as AccountEvent;
      return (
        ((fact.type === 'RewardGranted' || fact.type === 'RewardWithheld') &&
          fact.referralId === event.referralId) ||
        // Who is gone, or was moderated, is owed nothing more, or by another rule.
        (fact.type === 'ErasureRequested' &&
          (fact.account !== null || fact.persons.includes(event.referrer.person))) ||
        (fact.type === 'ReferrerSideModerated' && fact.referralId === event.referralId)
      );
    });
    return isSettled === true ? [] : [`${event.referralId}: its referrer was not rewarded`];
  });
}
