import type { AccountEvent } from '../../../domain/account/account.events.js';
import {
  evolve,
  initialState,
  unitKey,
  type AccountState,
  type ReferralState,
} from '../../../domain/account/account.state.js';
import {
  asListed,
  listedRedemptions,
  type ListedRedemption,
} from '../../../domain/account/bulk-redemption.js';
import { referralOf } from '../../../domain/account/former-referrals.js';

/** A decoded event of an account, with its id for explanations. */
export interface KnownEvent {
  readonly eventId: string;
  readonly event: AccountEvent;
}

/** An account's state, and what read models show and the state does not keep. */
export interface FoldedAccount {
  readonly state: AccountState;
  /** All referrals, including those from before the account was deleted and opened again. */
  readonly referrals: ReadonlyMap<string, ReferralState>;
  /** By reward, in order. */
  readonly redemptions: ReadonlyMap<string, readonly FoldedRedemption[]>;
  /** What large redemptions took from a person and are about to list, by `unlistedKey`. */
  readonly unlisted: ReadonlyMap<string, number>;
}

export const unlistedKey = (person: string, unit: string): string =>
  JSON.stringify([person, unitKey(unit)]);

interface FoldedRedemption extends Omit<ListedRedemption, 'person'> {
  /** The payment provider's id of the payment; absent or null: it was not paid there. */
  readonly paid?: string | null;
}

/** Folds by the rules that decisions use; no projector is involved. */
export function foldAccount(events: readonly KnownEvent[]): FoldedAccount {
  let state = initialState;
  const referrals = new Map<string, ReferralState>();
  const redemptions = new Map<string, FoldedRedemption[]>();
  for (const { event } of events) {
    state = evolve(state, event);
    const referral =
      'referralId' in event && event.referralId !== null
        ? referralOf(state, event.referralId)
        : undefined;
    if (referral) referrals.set(referral.referralId, referral);
    for (const one of redemptionsOf(event)) {
      const ofReward = redemptions.get(one.rewardId);
      if (ofReward) ofReward.push(one);
      else redemptions.set(one.rewardId, [one]);
    }
  }
  // Read models learn which rewards a large redemption used from the event that lists them.
  return { state: asListed(state), referrals, redemptions, unlisted: unlistedIn(state) };
}

function unlistedIn({ remains }: AccountState): ReadonlyMap<string, number> {
  const amounts = new Map<string, number>();
  for (const { lines, listed, unit, posted } of remains.unlisted.values())
    for (const { person, amount } of posted ? lines.slice(listed) : []) {
      const key = unlistedKey(person, unit);
      amounts.set(key, (amounts.get(key) ?? 0) + amount);
    }
  return amounts;
}

function redemptionsOf(event: AccountEvent): readonly FoldedRedemption[] {
  if (event.type === 'CreditRedeemed')
    return [{ ...event, paid: event.externalReference?.value ?? null }];
  return event.type === 'RedeemedRewardsListed' ? listedRedemptions(event) : [];
}

/** The values that an account's rows can be found by. */
export interface AccountKeys {
  readonly persons: readonly string[];
  readonly rewardIds: readonly string[];
  readonly rewardedReferralIds: readonly string[];
}

export function keysOf(events: readonly KnownEvent[]): AccountKeys {
  const persons = new Set<string>();
  const rewardIds = new Set<string>();
  const referralIds = new Set<string>();
  for (const { event } of events) {
    if (event.type === 'UserIdentified') persons.add(event.person);
    if (event.type !== 'RewardGranted') continue;
    rewardIds.add(event.rewardId);
    if (event.referralId !== null) referralIds.add(event.referralId);
  }
  return {
    persons: [...persons],
    rewardIds: [...rewardIds],
    rewardedReferralIds: [...referralIds],
  };
}
