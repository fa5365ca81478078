import { hasUnreleased, pictureOf } from '../../customer/customer.state.js';
import type { Decision } from '../../decision.js';
import type { InNeed } from '../../need.js';
import type { Personal, SubjectId } from '../../personal.js';
import type { GrantTerms, RewardTerms, RewardValue } from '../../program.js';
import { programOf } from '../../tenant/program-document.js';
import { decide } from '../account.decider.js';
import type { AccountEvent, PersonId, Subscription } from '../account.events.js';
import { linkOf } from '../account-shapes.js';
import type { AccountState } from '../account.state.js';
import type { ProviderSubscription, PushOutcome } from '../provider/reward-push.js';
import type { Seen } from '../users/seen.js';
import type { Circumstances } from './circumstances.js';
import {
  requestReceiveUserEvents,
  type ReceiveUserEventsRequest,
} from './receive-user-events-request.js';
import { contextOfCodes, referralContext } from './referral-context.js';
import { accountSubject } from './subjects.js';
import {
  requestCheckUserFields,
  requestUpsertUser,
  type CheckUserFieldsRequest,
  type UpsertUserRequest,
} from './upsert-user-request.js';
import { ownMember } from '../../own-member.js';

/**
 * Requests of an account before any look-up. Codes are as sent, in order of precedence. Times, ids
 * and facts of other streams are part of the circumstances.
 */
export type AccountRequest =
  | {
      readonly type: 'SyncAccount';
      readonly accountId: string;
      readonly subscription: Subscription;
      readonly currency: string | undefined;
      readonly codes: readonly string[];
    }
  | UpsertUserRequest
  | CheckUserFieldsRequest
  /** Brings the account to what the provider says of its customer. */
  | { readonly type: 'ApplyCustomer' }
  | { readonly type: 'CancelRefundedRewards'; readonly referralId: string }
  | {
      readonly type: 'ApplyCode';
      readonly userId: string;
      readonly code: string;
      readonly seen?: Seen | undefined;
    }
  | {
      readonly type: 'ApplyDiscount';
      readonly code: string;
      readonly paymentProviderId: string;
    }
  | { readonly type: 'BlockUser' | 'UnblockUser'; readonly userId: string }
  | { readonly type: 'UnsubscribeFromMails'; readonly person: PersonId }
  | {
      readonly type: 'CreateReward';
      readonly userId: string;
      readonly value: RewardValue;
      readonly name: string | null;
      readonly description: string | null;
      readonly cancellable: boolean;
      readonly dateScheduledFor: number | null;
      readonly dateExpires: number | null;
    }
  /** `preserveEmptyAccount` false: the account is deleted with its last user. */
  | {
      readonly type: 'ForgetUser';
      readonly userId: string;
      readonly doNotTrack: boolean;
      readonly preserveEmptyAccount: boolean;
    }
  | { readonly type: 'ForgetAccount'; readonly doNotTrack: boolean }
  | ReceiveUserEventsRequest
  | { readonly type: 'CancelReward' | 'SettleReward'; readonly rewardId: string }
  | {
      readonly type: 'RedeemCredit';
      readonly rewardId: string;
      readonly amount: number;
      readonly unit: string;
    }
  | { readonly type: 'RedeemAccountCredit'; readonly amount: number; readonly unit: string }
  | {
      readonly type: 'AdjustCredit';
      readonly userId: string;
      readonly person?: PersonId | undefined;
      readonly unit: string;
      /** Above zero adds, below zero takes away. */
      readonly amount: number;
      readonly reason: string;
      readonly approvedBy: Personal<string>;
      readonly by: Personal<string>;
    }
  | {
      readonly type: 'GrantReferrerReward';
      readonly referralId: string;
      readonly person: PersonId;
      readonly terms: RewardTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly earnedAt: number;
    }
  | {
      readonly type: 'GrantEventReward';
      readonly referralId: string;
      readonly userEventId: string;
      readonly person: PersonId;
      readonly terms: GrantTerms;
      readonly programId: string;
      readonly programVersion: number;
      readonly rule: string;
      readonly earnedAt: number;
    }
  | {
      readonly type: 'StartRewardPush';
      readonly rewardId: string;
      readonly replaces: number;
      readonly subscriptions: readonly ProviderSubscription[] | null;
      readonly done: readonly string[];
      readonly reference?: string | undefined;
      readonly isPaid?: true;
    }
  | {
      readonly type: 'RecordRewardPush';
      readonly rewardId: string;
      readonly push: number;
      readonly outcome: PushOutcome;
    }
  | { readonly type: 'ListRedeemedRewards' }
  | { readonly type: 'FlagReferral'; readonly referralId: string };

type Request<Type extends AccountRequest['type']> = Extract<AccountRequest, { type: Type }>;

/** Decides a request of an account, or returns the needs of the decision. */
// eslint-disable-next-line max-lines-per-function -- a case for each request
export function decideRequest(
  state: AccountState,
  request: AccountRequest,
  given: Circumstances,
): Decision<AccountEvent> {
  const { now, provided, commandId, ids } = given;
  switch (request.type) {
    case 'SyncAccount':
      return syncAccount(state, request, given);
    case 'ApplyCustomer':
      return applyCustomer(state, given);
    case 'UpsertUser':
      return requestUpsertUser(state, request, given);
    case 'CheckUserFields':
      return requestCheckUserFields(state, request, given);
    case 'ApplyCode':
      return applyCode(state, request, given);
    case 'ApplyDiscount':
      return applyDiscount(state, request, given);
    case 'ForgetUser':
      return forgetUser(state, request, given);
    case 'ForgetAccount':
      return forgetAccount(state, request, given);
    case 'CreateReward':
      return createReward(state, request, given);
    case 'ReceiveUserEvents':
      return requestReceiveUserEvents(state, request, given);
    case 'ListRedeemedRewards':
      return decide(state, request);
    case 'RedeemCredit':
    case 'RedeemAccountCredit':
      return decide(state, { ...request, redemptionId: ids.uuid(commandId, 'redemption'), now });
    case 'AdjustCredit': {
      const rewardId = ids.within(`${commandId}/adjustment`);
      return decide(state, {
        ...request,
        rewardId,
        redemptionId: ids.uuid(commandId, 'adjustment'),
        now,
      });
    }
    case 'GrantReferrerReward':
      return decide(state, {
        ...request,
        rewardId: ids.within(`${request.referralId}/referrer`),
        provided,
      });
    case 'GrantEventReward': {
      const { userEventId, programId, rule } = request;
      return decide(state, {
        ...request,
        rewardId: ids.rewardOfEvent(userEventId, programId, rule),
        provided,
      });
    }
    case 'StartRewardPush':
      return startPush(state, request, given);
    case 'CancelRefundedRewards':
    case 'RecordRewardPush':
    case 'FlagReferral':
    case 'BlockUser':
    case 'UnblockUser':
    case 'UnsubscribeFromMails':
    case 'CancelReward':
    case 'SettleReward':
      return decide(state, { ...request, now });
  }
}

function syncAccount(
  state: AccountState,
  request: Request<'SyncAccount'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const newAccount = accountSubject(state, given);
  if (typeof newAccount === 'object') return newAccount;
  const context = referralContext(state, request.codes, given);
  return 'needs' in context ? context : decide(state, { ...request, newAccount, context });
}

function applyCustomer(state: AccountState, given: Circumstances): Decision<AccountEvent> {
  if (state.status === 'absent' || state.paymentProviderId === null) return { events: [] };
  const { paymentProviderId: id } = state;
  const { customers } = given.provided;
  const customer = ownMember(customers, id);
  if (customer === undefined) return { needs: [{ kind: 'customer', id }] };
  const context = referralContext(state, [], given);
  if ('needs' in context) return context;
  const picture = pictureOf(customer, linkOf(state));
  return decide(state, { type: 'ApplyCustomer', picture, context });
}

function startPush(
  state: AccountState,
  request: Request<'StartRewardPush'>,
  given: Circumstances,
): Decision<AccountEvent> {
  if (state.status === 'absent' || state.paymentProviderId === null) return { events: [] };
  const customer = ownMember(given.provided.customers, state.paymentProviderId);
  if (customer === undefined) return { needs: [{ kind: 'customer', id: state.paymentProviderId }] };
  const { firstPaid } = pictureOf(customer, linkOf(state));
  return decide(state, { ...request, firstPaid, now: given.now });
}

function applyCode(
  state: AccountState,
  request: Request<'ApplyCode'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const { type, userId, seen, code } = request;
  const context = contextOfCodes([code], given);
  return 'needs' in context ? context : decide(state, { type, userId, seen, context });
}

function applyDiscount(
  state: AccountState,
  { type, code, paymentProviderId }: Request<'ApplyDiscount'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const isReferred = state.status === 'open' && state.attribution !== null;
  const context = contextOfCodes(isReferred ? [] : [code], given);
  return 'needs' in context ? context : decide(state, { type, paymentProviderId, context });
}

function forgetUser(
  state: AccountState,
  { type, userId, preserveEmptyAccount, doNotTrack }: Request<'ForgetUser'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const { now, commandId, ids } = given;
  const isLast = state.status === 'open' && !preserveEmptyAccount && state.users.size === 1;
  const customer = isLast ? customerOf(state, given) : null;
  if (typeof customer === 'object' && customer !== null) return customer;
  const suppressed = doNotTrack ? ids.userRef(userId) : null;
  const erasureId = ids.uuid(commandId, 'erasure');
  const asked = { type, userId, preserveEmptyAccount, suppressed, erasureId, customer, now };
  return decide(state, asked);
}

function forgetAccount(
  state: AccountState,
  { type, doNotTrack }: Request<'ForgetAccount'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const { now, commandId, ids } = given;
  const customer = customerOf(state, given);
  if (typeof customer === 'object' && customer !== null) return customer;
  const users = doNotTrack && state.status === 'open' ? [...state.personsByUserId] : [];
  const suppressed = Object.fromEntries(
    users.map(([userId, person]) => [person, ids.userRef(userId)]),
  );
  const erasureId = ids.uuid(commandId, 'erasure');
  return decide(state, { type, suppressed, erasureId, customer, now });
}

/**
 * The key of the ids of the account's customer; null: no ids are stored, or what is stored waits
 * for the next account. What the account has received is released first: without a subscription it
 * has received nothing.
 */
function customerOf(state: AccountState, { provided }: Circumstances): SubjectId | null | InNeed {
  if (state.status === 'absent' || state.paymentProviderId === null) return null;
  const { paymentProviderId: id, account, subscription } = state;
  const customer = ownMember(provided.customers, id);
  if (customer === undefined) return { needs: [{ kind: 'customer', id }] };
  if (!hasUnreleased(customer)) return customer.subject;
  if (subscription === null) return null;
  return { needs: [{ kind: 'customer-release', customer: id, account }] };
}

function createReward(
  state: AccountState,
  request: Request<'CreateReward'>,
  { now, tenant, commandId, ids }: Circumstances,
): Decision<AccountEvent> {
  const program = programOf(tenant, tenant.defaultProgramId);
  const redeemsAutomatically = program?.automaticRedemption.includes(request.value.type) ?? false;
  return decide(state, {
    ...request,
    rewardId: ids.within(`${commandId}/reward`),
    redeemsAutomatically,
    now,
  });
}
