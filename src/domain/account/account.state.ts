import { List, Map, OrderedMap, Set } from 'immutable';
import type { SubjectId } from '../personal.js';
import { CONVERSION_RULE, type RewardValue } from '../program.js';
import {
  type AccountState,
  type FormerReferral,
  type ImportedEntry,
  type OpenAccount,
  type OrphanedPush,
  type ReferralState,
  type RetainedData,
  type UnlistedRedemption,
  type UserState,
} from './account-shapes.js';
import type {
  AccountEvent,
  AccountEventOf,
  AnnouncedReferral,
  ErasedSubjects,
  ReferralImportSource,
  PersonId,
} from './account.events.js';
import { evolveImported, forgetImported } from './imports/imported-rows.js';
import { recordListed, redeemFromMany } from './rewards/bulk-redemption.js';
import { batchKey, rememberEvent, rememberBatch } from './users/events-seen.js';
import { addEarning, withoutEarning } from './users/refundable.js';
import { evolveFormer, withFormer } from './referral/former-referrals.js';
import {
  evolveDeleted,
  pushedBy,
  pushesInProgress,
  type PushEvent,
} from './provider/pushed-rewards.js';
import { grantedReward, redeemedBy, unitKey, type RewardState } from './rewards/reward-state.js';
import { countGranted, withheldKey, type GrantedOfRule } from './rewards/rule-counts.js';
import { updateSpendable, withoutPersons, type Spendable } from './rewards/spendable.js';

export type * from './account-shapes.js';
export type { RewardPhase, RewardPush, RewardState } from './rewards/reward-state.js';
export { presentReward } from './account-shapes.js';
export { amountLeft, rewardRef, unitKey, unitOf } from './rewards/reward-state.js';

const NOTHING_REMAINS: RetainedData = {
  forgotten: Set<SubjectId>(),
  suppressed: Set<string>(),
  erasures: Map<string, ErasedSubjects>(),
  grantedByRule: Map<string, GrantedOfRule>(),
  tankCodes: Map<string, string>(),
  formerReferrals: Map<string, FormerReferral>(),
  unlisted: OrderedMap<string, UnlistedRedemption>(),
  lapses: 0,
  pushing: Map<string, OrphanedPush>(),
  imported: Map<string, ImportedEntry>(),
};

export const initialState: AccountState = { status: 'absent', remains: NOTHING_REMAINS };

// eslint-disable-next-line max-lines-per-function -- a case for each type of event
export function evolve(before: AccountState, event: AccountEvent): AccountState {
  const state = evolveImported(withFormerReferrals(before, event), event);
  if (event.type === 'RedeemedRewardsListed')
    return { ...state, remains: recordListed(state.remains, event) };
  if (event.type === 'AccountOpened')
    return state.status === 'open' ? state : open(event, state.remains);
  if (event.type === 'ErasureRequested') return erase(state, event);
  if (event.type === 'ErasureCompleted')
    return {
      ...state,
      remains: { ...state.remains, erasures: state.remains.erasures.delete(event.erasureId) },
    };
  if (event.type === 'ReservationLapsed')
    return { ...state, remains: { ...state.remains, lapses: state.remains.lapses + 1 } };
  if (state.status === 'absent') return evolveDeleted(state, event);
  switch (event.type) {
    case 'SubscriptionChanged':
      return {
        ...state,
        subscription: event.subscription,
        everPaid: state.everPaid || event.subscription.status === 'PAID',
        hasPaid:
          state.hasPaid || (event.subscription.status === 'PAID' && event.imported === undefined),
      };
    case 'CurrencyChanged':
      return { ...state, currency: event.currency, currencyIsDefault: false };
    case 'AccountAttributed':
      return {
        ...state,
        attribution: {
          code: event.code.value,
          codeSubject: event.code.subject,
          referrer: event.referrer,
          programId: event.programId,
        },
      };
    case 'PaymentProviderIdSet':
      return {
        ...state,
        paymentProviderId: event.paymentProviderId.value,
        paymentProviderIdSince: event.at,
      };
    case 'UserIdentified':
      return identify(state, event);
    case 'UserProfileChanged':
      return withUser(state, event.person, (user) => ({
        ...user,
        profile: user.profile && { ...user.profile, ...event.changes.value },
      }));
    case 'ReferralCodeAssigned':
      return withUser(state, event.person, (user) =>
        assignCode(user, event.code.value, event.programId, event.at),
      );
    case 'UserBlocked':
      return withUser(state, event.person, (user) => ({ ...user, dateBlocked: event.at }));
    case 'UserUnblocked':
      return withUser(state, event.person, (user) => ({ ...user, dateBlocked: null }));
    case 'MailsUnsubscribed':
      return withUser(state, event.person, (user) => ({ ...user, wantsNoMails: true }));
    case 'ReferralStarted':
      return {
        ...state,
        referral: started(event),
        hasPaid: state.hasPaid && event.imported === undefined,
        paidUntil: event.imported?.paidUntil ?? state.paidUntil,
      };
    case 'ReferralConverted':
      return withReferral(state, event.referralId, (referral) => ({
        ...referral,
        datePaid: event.at,
        referredStatus: event.referredStatus,
        referrerStatus: event.referrerStatus,
        referredEarned: event.referredReward ?? referral.referredEarned,
        referrerEarned: event.referrerReward ?? referral.referrerEarned,
      }));
    case 'ReferralEnded':
      return withReferral(state, event.referralId, (referral) => ({
        ...referral,
        dateEnded: event.at,
      }));
    case 'ReferralRefunded':
      return withReferral(refund(state, event.referralId), event.referralId, (referral) => ({
        ...referral,
        dateRefunded: event.at,
      }));
    case 'ReferrerSideRefunded':
      return refund(state, event.referralId);
    case 'ReferralFlagged':
      return flag(state, event);
    case 'ReferralAnnounced': {
      const { referralId, account, person, at } = event;
      return announce(state, { referralId, account, person, at });
    }
    case 'ReferralWithdrawn':
      return withdraw(state, event.referralId);
    case 'UserEventReceived':
      return {
        ...state,
        eventsSeen: rememberEvent(state.eventsSeen, event),
        batches:
          event.batch === null
            ? state.batches
            : rememberBatch(
                state.batches,
                batchKey(event.person, event.batch),
                event.at - (event.aheadMs ?? 0),
              ),
      };
    // In the referrer's account; the event informs the policy that grants the reward.
    case 'ReferrerRewardEarnedByEvent':
    case 'RewardKept':
      return state;
    case 'RefundableEarningNoted':
      return { ...state, refundable: addEarning(state.refundable, event) };
    case 'EarningRefunded':
      return refundEarning(state, event);
    case 'ModerationPrepared':
      return hold(state, event);
    case 'ModerationReleased':
      return {
        ...state,
        holds: state.holds.filterNot((moderationId) => moderationId === event.moderationId),
      };
    case 'ReferralModerated':
      return release(
        withReferral(state, event.referralId, (referral) => ({
          ...referral,
          referredStatus: event.referredStatus,
          referrerStatus: event.referrerStatus,
          dateModerated: event.at,
        })),
        event.referralId,
        event.moderationId,
      );
    case 'ReferrerSideModerated':
      return release(
        { ...state, referrerSides: state.referrerSides.set(event.referralId, event.status) },
        event.referralId,
        event.moderationId,
      );
    case 'RewardGranted':
      return grant(state, event);
    case 'ImportedRewardLinked':
      return {
        ...withReward(state, event, (reward) => ({ ...reward, referralId: event.referralId })),
        rewardsByReferral: withRewardOf(state, event.referralId, event.rewardId),
      };
    case 'RewardWithheld':
      return { ...state, withheld: state.withheld.add(withheldKey(event)) };
    case 'RewardBecameAvailable':
      return withReward(state, event, (reward) => ({ ...reward, phase: 'AVAILABLE' }));
    case 'RewardExpired':
      return {
        ...withReward(state, event, (reward) => ({ ...reward, phase: 'EXPIRED' })),
        toPush: state.toPush.delete(event.rewardId),
      };
    case 'CreditRedeemed':
      return withReward(state, event, (reward) => redeemedBy(reward, event));
    case 'AccountCreditRedeemed':
      return redeemFromMany(state, event);
    case 'RewardCancelled':
      return withReward(state, event, (reward) => ({
        ...reward,
        dateCancelled: reward.dateCancelled ?? event.at,
        cancelledBy: event.by,
      }));
    case 'RewardRestored':
      return withReward(state, event, (reward) => ({
        ...reward,
        dateCancelled: null,
        cancelledBy: null,
      }));
    case 'RewardPushStarted':
    case 'RewardPushed':
    case 'RewardPushRefused':
      return withPush(state, event);
  }
}

function open(event: AccountEventOf<'AccountOpened'>, remains: RetainedData): OpenAccount {
  return {
    status: 'open',
    remains,
    account: event.account,
    accountId: event.accountId.value,
    currency: event.currency,
    currencyIsDefault: event.currencyIsDefault === true,
    subscription: null,
    everPaid: false,
    hasPaid: false,
    paidUntil: null,
    paymentProviderId: null,
    paymentProviderIdSince: null,
    attribution: null,
    referral: null,
    users: Map(),
    personsByUserId: Map(),
    persons: List(),
    forgottenPersons: Set(),
    rewards: Map(),
    toPush: Set(),
    spendable: Map(),
    rewardsByReferral: Map(),
    assignedEver: Map(),
    currencies: Map(),
    referrerSides: Map(),
    refunded: Set(),
    holds: Map(),
    grantedByRule: remains.grantedByRule,
    withheld: Set(),
    eventsSeen: Map(),
    refundable: Map(),
    batches: OrderedMap(),
    announced: List(),
    announcedAt: Map(),
    flagged: Map(),
  };
}

function identify(state: OpenAccount, event: AccountEventOf<'UserIdentified'>): OpenAccount {
  const profile = event.profile.value;
  const user: UserState = {
    person: event.person,
    profile,
    dateCreated: event.at,
    dateBlocked: null,
    codes: Map(),
    primaryCodes: Map(),
  };
  return {
    ...state,
    users: state.users.set(event.person, user),
    persons: state.persons.push(event.person),
    personsByUserId: profile
      ? state.personsByUserId.set(profile.id, event.person)
      : state.personsByUserId,
  };
}

function erase(
  state: AccountState,
  { type: _type, at: _at, suppressed, ...erased }: AccountEventOf<'ErasureRequested'>,
): AccountState {
  const { erasureId, persons, account } = erased;
  const { remains } = state;
  const after: RetainedData = {
    ...remains,
    forgotten: remains.forgotten.union(persons, account === null ? [] : [account]),
    imported: forgetImported(remains.imported, persons),
    suppressed: remains.suppressed.union(suppressed),
    erasures: remains.erasures.set(erasureId, erased),
    grantedByRule: state.status === 'open' ? state.grantedByRule : remains.grantedByRule,
  };
  if (state.status === 'absent') return { status: 'absent', remains: after };
  if (account !== null) {
    const tankCodes = after.tankCodes.merge(tankCodesOf(state));
    return {
      status: 'absent',
      remains: {
        ...after,
        tankCodes,
        formerReferrals: withFormer(after.formerReferrals, state),
        pushing: after.pushing.merge(pushesInProgress(state)),
      },
    };
  }
  const isGone = (person: PersonId): boolean => after.forgotten.has(person);
  return {
    ...state,
    remains: after,
    users: state.users.deleteAll(persons),
    personsByUserId: state.personsByUserId.filterNot(isGone),
    persons: state.persons.filterNot(isGone),
    forgottenPersons: state.forgottenPersons.union(persons),
    eventsSeen: state.eventsSeen.deleteAll(persons),
    refundable: state.refundable.deleteAll(persons),
    spendable: withoutPersons(state.spendable, persons),
  };
}

function tankCodesOf({ rewards }: OpenAccount): Map<string, string> {
  return rewards.flatMap(({ rewardId, value }) =>
    value.type === 'FUELTANK' ? [[rewardId, value.fuelTankCode] as const] : [],
  );
}

function assignCode(
  user: UserState,
  code: string | null,
  programId: string,
  at: number,
): UserState {
  if (code === null) return user;
  const key = code.toLowerCase();
  const since = user.codes.get(key)?.since ?? at;
  return {
    ...user,
    codes: user.codes.set(key, { code, programId, since }),
    primaryCodes: user.primaryCodes.set(programId, code),
  };
}

function started(event: AccountEventOf<'ReferralStarted'>): ReferralState {
  return {
    referralId: event.referralId,
    programId: event.programId,
    programVersion: event.programVersion,
    referred: event.referred,
    referrer: event.referrer,
    referredStatus: event.referredStatus,
    referrerStatus: event.referrerStatus,
    fraudSignals: event.fraudSignals,
    referredEarned: event.referredReward,
    referrerEarned: event.referrerReward,
    dateStarted: event.at,
    datePaid: null,
    dateEnded: null,
    dateModerated: event.at,
    ...(event.imported && { named: namedRewards(event.imported) }),
  };
}

/** A referrer deleted before the import earns nothing. */
const namedRewards = ({ referrerRow, rewards }: ReferralImportSource): ReferralState['named'] =>
  referrerRow === null ? { ...rewards, referrer: '' } : rewards;

function grant(state: OpenAccount, event: AccountEventOf<'RewardGranted'>): OpenAccount {
  const { rewardId, value, referralId } = event;
  // Granted once for any log: a second grant would undo redemptions of the first.
  if (state.rewards.has(rewardId)) return state;
  const reward = grantedReward(event);
  return {
    ...state,
    rewards: state.rewards.set(rewardId, reward),
    toPush: event.payTo === undefined ? state.toPush : state.toPush.add(rewardId),
    spendable: spendableWith(state, reward, event.imported?.at ?? event.at),
    rewardsByReferral:
      referralId === null ? state.rewardsByReferral : withRewardOf(state, referralId, rewardId),
    assignedEver:
      value.type === 'CREDIT' ? countAssigned(state.assignedEver, value) : state.assignedEver,
    currencies: withCurrency(state.currencies, value),
    grantedByRule: countGranted(state.grantedByRule, event),
  };
}

const withRewardOf = (
  { rewardsByReferral: rewards }: OpenAccount,
  referralId: string,
  rewardId: string,
): OpenAccount['rewardsByReferral'] =>
  rewards.set(referralId, (rewards.get(referralId) ?? List<string>()).push(rewardId));

function withCurrency(currencies: Map<string, string>, value: RewardValue): Map<string, string> {
  if (value.type !== 'CREDIT' || value.currency === null) return currencies;
  const key = unitKey(value.unit);
  return currencies.has(key) ? currencies : currencies.set(key, value.currency);
}

function countAssigned(
  assigned: OpenAccount['assignedEver'],
  { unit, assignedCredit }: { readonly unit: string; readonly assignedCredit: number },
): OpenAccount['assignedEver'] {
  const key = unitKey(unit);
  return assigned.set(key, (assigned.get(key) ?? 0) + assignedCredit);
}

function withFormerReferrals(state: AccountState, event: AccountEvent): AccountState {
  const { formerReferrals } = state.remains;
  if (formerReferrals.size === 0) return state;
  const after = evolveFormer(formerReferrals, event);
  return after === formerReferrals
    ? state
    : { ...state, remains: { ...state.remains, formerReferrals: after } };
}

function hold(
  state: OpenAccount,
  { moderationId, referralIds }: AccountEventOf<'ModerationPrepared'>,
): OpenAccount {
  const { formerReferrals } = state.remains;
  const ids = referralIds.filter((id) => !formerReferrals.has(id));
  return { ...state, holds: state.holds.merge(Map(ids.map((id) => [id, moderationId]))) };
}

const refund = (state: OpenAccount, referralId: string): OpenAccount => ({
  ...state,
  refunded: state.refunded.add(referralId),
});

function refundEarning(state: OpenAccount, event: AccountEventOf<'EarningRefunded'>): OpenAccount {
  const after = { ...state, refundable: withoutEarning(state.refundable, event) };
  return event.rule === CONVERSION_RULE && event.referralId !== null
    ? withReferral(after, event.referralId, (referral) => ({
        ...referral,
        dateConversionRefunded: event.at,
      }))
    : after;
}

function flag(
  state: OpenAccount,
  { referralId, fraudSignals }: AccountEventOf<'ReferralFlagged'>,
): OpenAccount {
  if (state.remains.formerReferrals.has(referralId)) return state;
  if (state.referral?.referralId !== referralId) {
    return {
      ...state,
      flagged: state.flagged.set(referralId, {
        ...state.flagged.get(referralId),
        ...fraudSignals,
      }),
    };
  }
  return withReferral(state, referralId, (referral) => ({
    ...referral,
    fraudSignals: { ...referral.fraudSignals, ...fraudSignals },
  }));
}

function release(state: OpenAccount, referralId: string, moderationId: string): OpenAccount {
  return state.holds.get(referralId) === moderationId
    ? { ...state, holds: state.holds.delete(referralId) }
    : state;
}

function withUser(
  state: OpenAccount,
  person: PersonId,
  change: (user: UserState) => UserState,
): OpenAccount {
  const user = state.users.get(person);
  return user ? { ...state, users: state.users.set(person, change(user)) } : state;
}

function withReferral(
  state: OpenAccount,
  referralId: string,
  change: (referral: ReferralState) => ReferralState,
): OpenAccount {
  return state.referral?.referralId === referralId
    ? { ...state, referral: change(state.referral) }
    : state;
}

function withReward(
  state: OpenAccount,
  { rewardId, at }: { readonly rewardId: string; readonly at: number },
  change: (reward: RewardState) => RewardState,
): OpenAccount {
  const reward = state.rewards.get(rewardId);
  if (!reward) return state;
  const after = change(reward);
  return {
    ...state,
    rewards: state.rewards.set(rewardId, after),
    spendable: spendableWith(state, after, at),
  };
}

function withPush(state: OpenAccount, event: PushEvent): OpenAccount {
  const after = withReward(removeEndedPush(state, event), event, (reward) =>
    pushedBy(reward, event),
  );
  if (event.type !== 'RewardPushed') return after;
  return { ...after, toPush: after.toPush.delete(event.rewardId) };
}

/** A push ends in the account that may have its id now. */
function removeEndedPush(state: OpenAccount, event: PushEvent): OpenAccount {
  const after = evolveDeleted({ status: 'absent', remains: state.remains }, event);
  return after.remains === state.remains ? state : { ...state, remains: after.remains };
}

/** Credit of forgotten people cannot be spent. */
const spendableWith = (
  { spendable, remains }: OpenAccount,
  reward: RewardState,
  at: number,
): Spendable =>
  reward.value.type === 'CREDIT' && !remains.forgotten.has(reward.person)
    ? updateSpendable(spendable, reward.value.unit, [reward], at)
    : spendable;

function announce(state: OpenAccount, referral: AnnouncedReferral): OpenAccount {
  const { announced, announcedAt } = withdraw(state, referral.referralId);
  return {
    ...state,
    announced: announced.push(referral),
    announcedAt: announcedAt.set(referral.referralId, announced.size),
  };
}

/** Leaves an empty place unless it is the last one: the other indexes must stay. */
function withdraw(state: OpenAccount, referralId: string): OpenAccount {
  const place = state.announcedAt.get(referralId);
  if (place === undefined) return state;
  const announced =
    place === state.announced.size - 1 ? state.announced.pop() : state.announced.set(place, null);
  return { ...state, announced, announcedAt: state.announcedAt.delete(referralId) };
}
