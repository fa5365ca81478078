import { BILLING_INTERVALS, SUBSCRIPTION_STATUSES } from '../../domain/account/account.events.js';
import { subscriptionOf } from './sync-account.request.js';
import type { AccountFacts } from '../../domain/account/account.facts.js';
import {
  answer,
  answerOf,
  described,
  integer,
  oneOf,
  optional,
  orNull,
  text,
  textUntilForgotten,
} from '../../presenting/answer-members.js';

class SubscriptionResponse extends answerOf({
  status: oneOf(SUBSCRIPTION_STATUSES),
  value: optional(described<number>({ type: Number })),
  billingIntervalType: optional(oneOf(BILLING_INTERVALS)),
  billingIntervalValue: optional(integer),
}) {}

class AccountReferralResponse extends answerOf({ code: text }) {}

const ACCOUNT = {
  id: text,
  currency: text,
  subscription: answer(SubscriptionResponse),
  referral: orNull(answer(AccountReferralResponse)),
};

export class AccountResponse extends answerOf(ACCOUNT) {}

export class WrittenAccountResponse extends answerOf({ ...ACCOUNT, id: textUntilForgotten }) {}

/** `subscription` omits members that are not set. */
export function accountJson(facts: AccountFacts): AccountResponse {
  return {
    id: facts.accountId,
    currency: facts.currency,
    subscription: subscriptionOf(facts.subscription),
    referral: facts.referralCode === null ? null : { code: facts.referralCode },
  };
}
