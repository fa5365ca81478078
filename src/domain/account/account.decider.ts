import { hasUnreleased, customerSummary, type CustomerState } from '../customer/customer.state.js';
import type { Decision } from '../decision.js';
import type { InNeed } from '../need.js';
import { ownMember } from '../own-member.js';
import type { SubjectId } from '../personal.js';
import { REFERRER_RULE } from '../program.js';
import { programOf } from '../tenant/program-document.js';
import type { AccountEvent } from './account.events.js';
import { customerLinkOf } from './account-shapes.js';
import type { AccountState } from './account.state.js';
import {
  forgetAccount,
  forgetUser,
  type ForgetAccount,
  type ForgetUser,
} from './erasure/erasure.js';
import { importReferral, type ImportReferral } from './imports/import-referral.js';
import {
  importReward,
  linkImportedReward,
  type ImportReward,
  type LinkImportedReward,
} from './imports/import-reward.js';
import { importUser, type ImportUser } from './imports/import-user.js';
import { blockUser, type BlockUser } from './moderation/blocking.js';
import {
  applyCustomer,
  cancelRefundedRewards,
  type CancelRefundedRewards,
} from './provider/apply-customer.js';
import { applyDiscount, type ApplyDiscount } from './provider/apply-discount.js';
import {
  recordRewardPush,
  startRewardPush,
  type RecordRewardPush,
  type StartRewardPush,
} from './provider/reward-push.js';
import { flagReferral, type FlagReferral } from './referral/flag-referral.js';
import { applyCode, type ApplyCode } from './referral/referral.js';
import type { Circumstances } from './requests/circumstances.js';
import {
  requestReceiveUserEvents,
  type ReceiveUserEventsRequest,
} from './requests/receive-user-events-request.js';
import { contextOfCodes, referralContext } from './requests/referral-context.js';
import { accountSubject } from './requests/subjects.js';
import {
  requestCheckUserFields,
  requestUpsertUser,
  type CheckUserFieldsRequest,
  type UpsertUserRequest,
} from './requests/upsert-user-request.js';
import { adjustCredit, type AdjustCredit } from './rewards/adjustment.js';
import { listRedeemedRewards, type ListRedeemedRewards } from './rewards/bulk-redemption.js';
import { grantEventReward, type GrantEventReward } from './rewards/grant-event-reward.js';
import { grantReferrerReward, type GrantReferrerReward } from './rewards/grant-referrer-reward.js';
import {
  redeemAccountCredit,
  redeemCredit,
  type RedeemAccountCredit,
  type RedeemCredit,
} from './rewards/redemption.js';
import {
  cancelReward,
  createReward,
  neededCode,
  settleReward,
  type CancelReward,
  type CreateReward,
  type SettleReward,
} from './rewards/rewards.js';
import { takeBackReward, type TakeBackReward } from './rewards/take-back-reward.js';
import { syncAccount, type SyncAccount } from './sync-account.js';
import { unsubscribeFromMails, type UnsubscribeFromMails } from './users/unsubscribe-from-mails.js';

/** Time, ids and facts of other streams come from `Circumstances`. Codes by precedence. */
export type AccountCommand =
  | (Omit<SyncAccount, 'newAccount' | 'context'> & { readonly codes: readonly string[] })
  | UpsertUserRequest
  | CheckUserFieldsRequest
  | { readonly type: 'ApplyCustomer' }
  | (Omit<ApplyCode, 'context'> & { readonly code: string })
  | (Omit<ApplyDiscount, 'context'> & { readonly code: string })
  | (Omit<ForgetUser, 'suppressed' | 'erasureId' | 'customer' | 'now'> & Forgetting)
  | (Omit<ForgetAccount, 'suppressed' | 'erasureId' | 'customer' | 'now'> & Forgetting)
  | ReceiveUserEventsRequest
  | Omit<CreateReward, 'rewardId' | 'redeemsAutomatically' | 'now'>
  | Omit<RedeemCredit, 'redemptionId' | 'now'>
  | Omit<RedeemAccountCredit, 'redemptionId' | 'now'>
  | Omit<AdjustCredit, 'rewardId' | 'redemptionId' | 'now'>
  | Omit<GrantReferrerReward, 'rewardId' | 'provided'>
  | (Omit<GrantEventReward, 'rewardId' | 'provided'> & { readonly userEventId: string })
  | (Omit<TakeBackReward, 'rewardId' | 'now'> & { readonly userEventId: string })
  | Omit<StartRewardPush, 'firstPaid' | 'now'>
  | Omit<RecordRewardPush, 'now'>
  | Omit<CancelRefundedRewards, 'now'>
  | Omit<FlagReferral, 'now'>
  | Omit<BlockUser, 'now'>
  | Omit<UnsubscribeFromMails, 'now'>
  | Omit<CancelReward, 'now'>
  | Omit<SettleReward, 'now'>
  | ListRedeemedRewards
  | ImportUser
  | ImportReferral
  | ImportReward
  | LinkImportedReward;

/** `doNotTrack`: the user id is suppressed. */
interface Forgetting {
  readonly doNotTrack: boolean;
}

type Of<Type extends AccountCommand['type']> = Extract<AccountCommand, { type: Type }>;

// eslint-disable-next-line max-lines-per-function -- a case for each command
export function decide(
  state: AccountState,
  command: AccountCommand,
  given: Circumstances,
): Decision<AccountEvent> {
  const { now, provided, commandId, ids } = given;
  switch (command.type) {
    case 'SyncAccount':
      return decideSync(state, command, given);
    case 'ApplyCustomer':
      return decideCustomer(state, given);
    case 'UpsertUser':
      return requestUpsertUser(state, command, given);
    case 'CheckUserFields':
      return requestCheckUserFields(state, command, given);
    case 'ApplyCode':
      return decideCode(state, command, given);
    case 'ApplyDiscount':
      return decideDiscount(state, command, given);
    case 'ForgetUser':
      return decideForgetUser(state, command, given);
    case 'ForgetAccount':
      return decideForgetAccount(state, command, given);
    case 'ReceiveUserEvents':
      return requestReceiveUserEvents(state, command, given);
    case 'CreateReward':
      return decideReward(state, command, given);
    case 'CancelReward':
      return cancelReward(state, { ...command, now });
    case 'SettleReward':
      return settleReward(state, { ...command, now });
    case 'RedeemCredit':
      return redeemCredit(state, {
        ...command,
        redemptionId: ids.uuid(commandId, 'redemption'),
        now,
      });
    case 'RedeemAccountCredit':
      return redeemAccountCredit(state, {
        ...command,
        redemptionId: ids.uuid(commandId, 'redemption'),
        now,
      });
    case 'ListRedeemedRewards':
      return listRedeemedRewards(state);
    case 'AdjustCredit': {
      const rewardId = ids.within(`${commandId}/adjustment`);
      const redemptionId = ids.uuid(commandId, 'adjustment');
      return adjustCredit(state, { ...command, rewardId, redemptionId, now });
    }
    case 'GrantReferrerReward': {
      const rewardId = ids.within(`${command.referralId}/referrer`);
      return grantReferrerReward(state, { ...command, rewardId, provided });
    }
    case 'GrantEventReward': {
      const { userEventId, programId, rule } = command;
      const rewardId = ids.rewardOfEvent(userEventId, programId, rule);
      return grantEventReward(state, { ...command, rewardId, provided });
    }
    case 'TakeBackReward': {
      const { referralId, userEventId, programId, rule } = command;
      const rewardId =
        rule === REFERRER_RULE
          ? ids.within(`${referralId}/referrer`)
          : ids.rewardOfEvent(userEventId, programId, rule);
      return takeBackReward(state, { ...command, rewardId, now });
    }
    case 'StartRewardPush':
      return decidePush(state, command, given);
    case 'RecordRewardPush':
      return recordRewardPush(state, { ...command, now });
    case 'CancelRefundedRewards':
      return cancelRefundedRewards(state, { ...command, now });
    case 'FlagReferral':
      return flagReferral(state, { ...command, now });
    case 'BlockUser':
    case 'UnblockUser':
      return blockUser(state, { ...command, now });
    case 'ImportUser':
      return importUser(state, command, given);
    case 'ImportReferral':
      return importReferral(state, command, given);
    case 'ImportReward':
      return importReward(state, command, given);
    case 'LinkImportedReward':
      return linkImportedReward(state, command, given);
    case 'UnsubscribeFromMails':
      return unsubscribeFromMails(state, { ...command, now });
  }
}

function decideSync(
  state: AccountState,
  command: Of<'SyncAccount'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const newAccount = accountSubject(state, given);
  if (typeof newAccount === 'object') return newAccount;
  const context = referralContext(state, command.codes, given);
  return 'needs' in context ? context : syncAccount(state, { ...command, newAccount, context });
}

function decideCustomer(state: AccountState, given: Circumstances): Decision<AccountEvent> {
  if (state.status === 'absent' || state.paymentProviderId === null) return { events: [] };
  const customer = customerWith(state.paymentProviderId, given);
  if ('needs' in customer) return customer;
  const context = referralContext(state, [], given);
  if ('needs' in context) return context;
  const picture = customerSummary(customer, customerLinkOf(state));
  return applyCustomer(state, { type: 'ApplyCustomer', picture, context });
}

function decidePush(
  state: AccountState,
  command: Of<'StartRewardPush'>,
  given: Circumstances,
): Decision<AccountEvent> {
  if (state.status === 'absent' || state.paymentProviderId === null) return { events: [] };
  const customer = customerWith(state.paymentProviderId, given);
  if ('needs' in customer) return customer;
  const { firstPaid } = customerSummary(customer, customerLinkOf(state));
  return startRewardPush(state, { ...command, firstPaid, now: given.now });
}

function decideCode(
  state: AccountState,
  command: Of<'ApplyCode'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const { type, userId, seen, code } = command;
  const context = contextOfCodes([code], given);
  return 'needs' in context ? context : applyCode(state, { type, userId, seen, context });
}

function decideDiscount(
  state: AccountState,
  { type, code, paymentProviderId }: Of<'ApplyDiscount'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const isReferred = state.status === 'open' && state.attribution !== null;
  const context = contextOfCodes(isReferred ? [] : [code], given);
  return 'needs' in context ? context : applyDiscount(state, { type, paymentProviderId, context });
}

function decideForgetUser(
  state: AccountState,
  { type, userId, preserveEmptyAccount, doNotTrack }: Of<'ForgetUser'>,
  given: Circumstances,
): Decision<AccountEvent> {
  const { now, commandId, ids } = given;
  const isLast = state.status === 'open' && !preserveEmptyAccount && state.users.size === 1;
  const customer = isLast ? customerOf(state, given) : null;
  if (typeof customer === 'object' && customer !== null) return customer;
  const suppressed = doNotTrack ? ids.userRef(userId) : null;
  const erasureId = ids.uuid(commandId, 'erasure');
  const user = { type, userId, preserveEmptyAccount };
  return forgetUser(state, { ...user, suppressed, erasureId, customer, now });
}

function decideForgetAccount(
  state: AccountState,
  { type, doNotTrack }: Of<'ForgetAccount'>,
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
  return forgetAccount(state, { type, suppressed, erasureId, customer, now });
}

const customerWith = (id: string, { provided }: Circumstances): CustomerState | InNeed =>
  ownMember(provided.customers, id) ?? { needs: [{ kind: 'customer', id }] };

/**
 * Subject of the customer's ids; null: none are stored, or they are a later account's. The customer
 * is released first, unless the account has no subscription and thus received nothing.
 */
function customerOf(state: AccountState, given: Circumstances): SubjectId | null | InNeed {
  if (state.status === 'absent' || state.paymentProviderId === null) return null;
  const { paymentProviderId: id, account, subscription } = state;
  const customer = customerWith(id, given);
  if ('needs' in customer) return customer;
  if (!hasUnreleased(customer)) return customer.subject;
  if (subscription === null) return null;
  return { needs: [{ kind: 'customer-release', customer: id, account }] };
}

function decideReward(
  state: AccountState,
  command: Of<'CreateReward'>,
  { now, tenant, provided, commandId, ids }: Circumstances,
): Decision<AccountEvent> {
  const rewardId = ids.within(`${commandId}/reward`);
  const program = programOf(tenant, tenant.defaultProgramId);
  const redeemsAutomatically = program?.automaticRedemption.includes(command.value.type) ?? false;
  const created = createReward(state, { ...command, rewardId, redeemsAutomatically, now });
  return 'events' in created
    ? (neededCode(state, command.value, rewardId, provided) ?? created)
    : created;
}
