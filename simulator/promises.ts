import type { AccountEvent, AccountEventOf } from '../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
  type OpenAccount,
} from '../src/domain/account/account.state.js';
import { availableCredit } from '../src/domain/account/rewards/redemption.js';
import type { ModerationItem } from '../src/domain/moderation/moderation.decider.js';
import type { Decoded } from '../src/event-log/codec.js';
import { accountRefOf } from '../src/privacy/keyed-names.js';
import { unpaid } from './what-is-owed.js';

/** An account as the log has it, apart from the state by which the service decides. */
export interface TracedAccount {
  readonly account: string;
  readonly state: AccountState;
  readonly events: readonly Decoded[];
}

interface TracedReward {
  readonly assigned: number;
  /** Epoch milliseconds; null: immediately, never. */
  readonly from: number | null;
  readonly until: number | null;
  readonly referralId: string | null;
  redeemed: number;
  isCancelled: boolean;
  /** Recorded: it stays so when the clock is set back and the log accepts that clock. */
  isAvailable: boolean;
  isExpired: boolean;
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
  const books = new Trace();
  for (const { event } of events) books.note(event as AccountEvent);
  const broken = [...books.broken];
  if (state.remains.unlisted.size > 0) broken.push('a redemption is not listed');
  if (state.remains.erasures.size > 0) broken.push('an erasure is not complete');
  if (state.status === 'open') broken.push(...brokenByState(state));
  return broken.map((what) => `${account}: ${what}`);
}

/** Follows the events of an account with as little knowledge of the rules as will do. */
class Trace {
  readonly broken: string[] = [];
  private readonly rewards = new Map<string, TracedReward>();
  private readonly paid = new Set<string>();
  private readonly bulk = new Map<string, { readonly amount: number; listed: number }>();
  private readonly redemptions = new Set<string>();
  /** By referral: the moderation that holds it. */
  private readonly holds = new Map<string, string>();
  private once = new Set<string>();
  /** By unit in lower case. */
  private currencies = new Map<string, string>();
  private readonly eventIds = new Set<string>();

  note(event: AccountEvent): void {
    this.noteOnce(event);
    this.noteEventId(event);
    this.noteHold(event);
    switch (event.type) {
      case 'RewardGranted':
        return this.grant(event);
      case 'RewardBecameAvailable': {
        const reward = this.rewards.get(event.rewardId);
        if (reward) reward.isAvailable = true;
        return;
      }
      case 'RewardExpired': {
        const reward = this.rewards.get(event.rewardId);
        if (reward?.isExpired === true) this.broken.push(`${event.rewardId} expires twice`);
        if (reward) reward.isExpired = true;
        return;
      }
      case 'CreditRedeemed':
        this.redeemInTime(event);
        this.redeem(event.rewardId, event.amount);
        // A correction takes from several rewards.
        return event.adjustment ? undefined : this.redeemedOnce(event.redemptionId);
      case 'AccountCreditRedeemed':
        this.bulk.set(event.redemptionId, { amount: event.amount, listed: 0 });
        return this.redeemedOnce(event.redemptionId);
      case 'RedeemedRewardsListed':
        return this.list(event);
      case 'RewardCancelled':
        return this.cancel(event);
      case 'RewardRestored': {
        const reward = this.rewards.get(event.rewardId);
        if (reward) reward.isCancelled = false;
        return;
      }
      default:
    }
  }

  private noteOnce(event: AccountEvent): void {
    if (event.type === 'ErasureRequested' && event.account !== null) {
      this.once = new Set();
      this.currencies = new Map();
    }
    if (!ONCE.has(event.type)) return;
    if (this.once.has(event.type)) this.broken.push(`${event.type} twice`);
    this.once.add(event.type);
  }

  private noteEventId(event: AccountEvent): void {
    if (event.type !== 'UserEventReceived' || event.idRef === undefined) return;
    const id = `${event.person} ${event.idRef}`;
    if (this.eventIds.has(id) !== (event.repeated === true))
      this.broken.push(`${event.userEventId} counts ${event.repeated ? 'never' : 'twice'}`);
    this.eventIds.add(id);
  }

  /** Nothing that a moderation holds changes before its end, but by itself. */
  private noteHold(event: AccountEvent): void {
    if (event.type === 'ModerationPrepared')
      for (const referralId of event.referralIds) this.holds.set(referralId, event.moderationId);
    if (event.type === 'ModerationReleased')
      for (const [referralId, hold] of this.holds)
        if (hold === event.moderationId) this.holds.delete(referralId);
    if (event.type === 'ReferralModerated' || event.type === 'ReferrerSideModerated')
      this.holds.delete(event.referralId);
    const held = this.heldBy(event);
    if (held !== undefined) this.broken.push(`${event.type} of what ${held} holds`);
  }

  private heldBy(event: AccountEvent): string | undefined {
    switch (event.type) {
      case 'ReferralConverted':
      case 'ReferralEnded':
        return this.holds.get(event.referralId);
      case 'CreditRedeemed':
      case 'RewardCancelled':
        return this.holds.get(this.rewards.get(event.rewardId)?.referralId ?? '');
      default:
        return undefined;
    }
  }

  private redeemInTime({ rewardId, at }: AccountEventOf<'CreditRedeemed'>): void {
    const reward = this.rewards.get(rewardId);
    if (reward === undefined) return;
    const isEarly = !reward.isAvailable && reward.from !== null && at < reward.from;
    if (isEarly || reward.isExpired || (reward.until !== null && at >= reward.until))
      this.broken.push(`${rewardId} is redeemed ${isEarly ? 'before its date' : 'and expired'}`);
  }

  private grant(event: AccountEventOf<'RewardGranted'>): void {
    const { rewardId, referralId, source, value } = event;
    if (this.rewards.has(rewardId)) this.broken.push(`${rewardId} is granted twice`);
    if (source === 'FRIEND_SIGNUP') {
      const cause = `the referrer of ${referralId ?? ''}`;
      if (this.paid.has(cause)) this.broken.push(`${cause} is paid twice`);
      this.paid.add(cause);
    }
    if (value.type === 'CREDIT') this.noteCurrency(value.unit.toLowerCase(), value.currency);
    const assigned = value.type === 'CREDIT' ? value.assignedCredit : 0;
    this.rewards.set(rewardId, {
      assigned,
      from: event.dateScheduledFor,
      until: event.dateExpires,
      referralId,
      redeemed: event.imported?.redeemed ?? 0,
      isCancelled: false,
      isAvailable: false,
      isExpired: false,
    });
  }

  private noteCurrency(unit: string, currency: string | null): void {
    const before = this.currencies.get(unit) ?? null;
    if (before !== null && currency !== before)
      this.broken.push(`${unit} are in ${before} and in ${currency ?? 'no currency'}`);
    if (currency !== null) this.currencies.set(unit, currency);
  }

  private redeem(rewardId: string, amount: number): void {
    const reward = this.rewards.get(rewardId);
    if (!reward) {
      this.broken.push(`${rewardId} is redeemed and was never granted`);
      return;
    }
    reward.redeemed += amount;
    if (amount <= 0 || reward.redeemed > reward.assigned)
      this.broken.push(`${reward.redeemed} of ${reward.assigned} of ${rewardId} are redeemed`);
    if (reward.isCancelled) this.broken.push(`${rewardId} is cancelled and redeemed`);
  }

  private redeemedOnce(redemptionId: string): void {
    if (this.redemptions.has(redemptionId)) this.broken.push(`${redemptionId} is redeemed twice`);
    this.redemptions.add(redemptionId);
  }

  private list({ redemptionId, lines }: AccountEventOf<'RedeemedRewardsListed'>): void {
    const of = this.bulk.get(redemptionId);
    for (const [rewardId, , amount] of lines) {
      this.redeem(rewardId, amount);
      if (of) of.listed += amount;
    }
    if (!of || of.listed > of.amount)
      this.broken.push(`more is listed than ${redemptionId} redeemed`);
  }

  private cancel({ rewardId, amount }: AccountEventOf<'RewardCancelled'>): void {
    const reward = this.rewards.get(rewardId);
    if (!reward) return;
    // A request may take over what a moderation has cancelled: nothing is posted then.
    if (reward.isCancelled && amount > 0) this.broken.push(`${rewardId} is cancelled twice`);
    if (reward.redeemed > 0) this.broken.push(`${rewardId} is redeemed and cancelled`);
    reward.isCancelled = true;
  }
}

function brokenByState(state: OpenAccount): string[] {
  const broken: string[] = [];
  for (const reward of state.rewards.values()) {
    const assigned = reward.value.type === 'CREDIT' ? reward.value.assignedCredit : 0;
    if (reward.redeemed < 0 || reward.redeemed > assigned)
      broken.push(`the state has ${reward.redeemed} of ${assigned} redeemed`);
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
  const rows = new Set<string>();
  for (const { account, state } of accounts.values()) {
    for (const ref of state.remains.imported.keys()) {
      if (rows.has(ref)) broken.push(`${account}: the row ${ref} is that of another account`);
      rows.add(ref);
    }
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
    if (isReferredBack(state, account, accounts))
      broken.push(`${account}: it refers the account that refers it`);
    if (state.holds.size > 0) broken.push(`${account}: a moderation holds it for ever`);
    for (const unit of ['cents', 'points'])
      if (availableCredit(state, unit, now) < 0) broken.push(`${account}: a balance below zero`);
    broken.push(...overdue(account, state, now));
  }
  return [...broken, ...unpaid(accounts), ...halfModerated(log), ...handedOutTwice(log)];
}

/** Whether the account of its referrer was referred by it, since both accounts are there. */
function isReferredBack(
  state: OpenAccount,
  account: string,
  accounts: ReadonlyMap<string, TracedAccount>,
): boolean {
  const isOf = ({ users, forgottenPersons }: OpenAccount, person: string): boolean =>
    users.has(person) || forgottenPersons.has(person);
  const referrer = state.referral?.referrer;
  if (referrer === undefined) return false;
  const other = accounts.get(referrer.account)?.state;
  if (other?.status !== 'open' || !isOf(other, referrer.person)) return false;
  const back = other.referral?.referrer;
  return back?.account === account && isOf(state, back.person);
}

/** A code of a tank is for one person, and for no other after that. */
function handedOutTwice(log: readonly Decoded[]): string[] {
  const handedOut = new Set<string>();
  return log.flatMap(({ event }) => {
    if (event.type !== 'RewardGranted' || event.value.type !== 'FUELTANK') return [];
    const { fuelTankCode } = event.value;
    if (!handedOut.has(fuelTankCode)) {
      handedOut.add(fuelTankCode);
      return [];
    }
    return [`the tank code ${fuelTankCode} is handed out twice`];
  });
}

const DAY_MS = 86_400_000;

/** Scheduled rewards whose date has long passed. */
const overdue = (account: string, { rewards }: OpenAccount, now: number): string[] =>
  [...rewards.values()].flatMap(({ rewardId, phase, dateScheduledFor, dateCancelled }) =>
    phase === 'PENDING' && dateCancelled === null && (dateScheduledFor ?? 0) < now - DAY_MS
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
    if (event.type === 'ReferralModerated')
      applied.add(`${event.moderationId} ${event.referralId}`);
  }
  return [...moderations].flatMap(([moderationId, { items, isAgreed }]) =>
    items.flatMap(({ referralId }) => {
      const isApplied = applied.has(`${moderationId} ${referralId}`);
      if (isApplied === isAgreed) return [];
      return [
        `${moderationId}: ${referralId} is ${isApplied ? 'moderated, unagreed' : 'left out'}`,
      ];
    }),
  );
}
