import type { AccountEvent } from '../../../domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
  type ReferralState,
} from '../../../domain/account/account.state.js';
import {
  asListed,
  listedRedemptions,
  type ListedRedemption,
} from '../../../domain/account/bulk-redemption.js';
import { referralOf } from '../../../domain/account/former-referrals.js';

/** A decoded event of an account with its id, as an explanation of what it led to. */
export interface KnownEvent {
  readonly eventId: string;
  readonly event: AccountEvent;
}

/** An account as the deciders see it, and what they need not remember but read models show. */
export interface FoldedAccount {
  readonly state: AccountState;
  /** Of the account, those from before it was deleted and opened anew among them. */
  readonly referrals: ReadonlyMap<string, ReferralState>;
  /** By reward, in order. */
  readonly redemptions: ReadonlyMap<string, readonly Omit<ListedRedemption, 'person'>[]>;
}

/** By the rules that decisions are made on: nothing here is taken from a projector. */
export function foldAccount(events: readonly KnownEvent[]): FoldedAccount {
  let state = initialState;
  const referrals = new Map<string, ReferralState>();
  const redemptions = new Map<string, Omit<ListedRedemption, 'person'>[]>();
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
  // Read models hear of what very many rewards were redeemed by once it is written down.
  return { state: asListed(state), referrals, redemptions };
}

function redemptionsOf(event: AccountEvent): readonly Omit<ListedRedemption, 'person'>[] {
  if (event.type === 'CreditRedeemed') return [event];
  return event.type === 'RedeemedRewardsListed' ? listedRedemptions(event) : [];
}

/** What an account's rows may be found by. */
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
