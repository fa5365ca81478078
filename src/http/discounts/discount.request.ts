import { Id } from '../shapes/request-members.js';

/** POST discount. */
export class DiscountRequest {
  @Id({ required: true })
  accountId: string;

  @Id({
    required: true,
    description: "The account's customer at the payment provider; can be set once.",
  })
  paymentProviderId: string;

  @Id({
    required: true,
    description: 'A referral code; ignored when the account is referred already.',
  })
  couponCode: string;
}
