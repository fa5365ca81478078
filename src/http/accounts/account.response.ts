import { ApiProperty, OmitType } from '@nestjs/swagger';
import {
  BILLING_INTERVALS,
  SUBSCRIPTION_STATUSES,
  type BillingInterval,
  type SubscriptionStatus,
} from '../../domain/account/account.events.js';
import { subscriptionOf } from './sync-account.request.js';
import type { AccountFacts } from '../../domain/account/account.facts.js';
import { Text, TextUntilForgotten } from '../../presenting/answer-members.js';

class SubscriptionResponse {
  @ApiProperty({ enum: SUBSCRIPTION_STATUSES })
  status: SubscriptionStatus;

  @ApiProperty({ type: Number, required: false })
  value?: number;

  @ApiProperty({ enum: BILLING_INTERVALS, required: false })
  billingIntervalType?: BillingInterval;

  @ApiProperty({ type: 'integer', required: false })
  billingIntervalValue?: number;
}

class AccountReferralResponse {
  @Text()
  code: string;
}

export class AccountResponse {
  @Text()
  id: string;

  @Text()
  currency: string;

  @ApiProperty({ type: SubscriptionResponse })
  subscription: SubscriptionResponse;

  @ApiProperty({ type: AccountReferralResponse, nullable: true })
  referral: AccountReferralResponse | null;
}

export class WrittenAccountResponse extends OmitType(AccountResponse, ['id']) {
  @TextUntilForgotten()
  id: string | null;
}

/** `subscription` omits members that are not set. */
export function accountJson(facts: AccountFacts): AccountResponse {
  return {
    id: facts.accountId,
    currency: facts.currency,
    subscription: subscriptionOf(facts.subscription),
    referral: facts.referralCode === null ? null : { code: facts.referralCode },
  };
}
