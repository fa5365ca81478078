import { Id } from '../shapes/request-members.js';

/** POST discount. */
export class DiscountRequest {
  @Id({ required: true })
  accountId: string;

  @Id({ required: true })
  paymentProviderId: string;

  @Id({ required: true, isTrimmed: true })
  couponCode: string;
}
