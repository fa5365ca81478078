import { reservationKey, type NeededReservation } from '../../need.js';
import { personal } from '../../personal.js';
import type { Decision } from '../../decision.js';
import { refused } from '../../refusal.js';
import type { AccountEvent } from '../account.events.js';
import type { AccountState, OpenAccount } from '../account.state.js';
import { Draft } from '../draft.js';
import {
  attributeByCode,
  reasonAgainstAccount,
  type ReferralContext,
} from '../referral/referral.js';
import { ownMember } from '../../own-member.js';

/** POST discount: refers the account and gives it the provider's customer, or neither. */
export interface ApplyDiscount {
  readonly type: 'ApplyDiscount';
  readonly paymentProviderId: string;
  /** Of the code; without one when the account is already referred. */
  readonly context: ReferralContext;
}

/** An existing referral stays. Otherwise the code is refused as if a user had applied it. */
export function applyDiscount(
  state: AccountState,
  { paymentProviderId, context }: ApplyDiscount,
): Decision<AccountEvent> {
  const { codeOwner, referrer, now } = context;
  const isReferred = state.status === 'open' && state.attribution !== null;
  if (!isReferred && (!codeOwner || !referrer || referrer.blocked))
    return refused('REFERRAL_CODE_NOT_FOUND');
  if (state.status === 'absent') return refused('ACCOUNT_NOT_FOUND');
  const { paymentProviderId: known } = state;
  if (known !== null && known !== paymentProviderId) return refused('PAYMENT_PROVIDER_ID_SET');
  const against =
    isReferred || !codeOwner ? undefined : reasonAgainstAccount(state, codeOwner, context);
  if (against) return refused(against);
  const draft = new Draft(state, context.provided);
  if (known === null) {
    const need = reservationOfProviderId(state, paymentProviderId);
    const reserved = ownMember(context.provided.reservations, reservationKey(need));
    if (reserved === undefined) draft.need(need);
    else if ('refused' in reserved) return refused('PAYMENT_PROVIDER_ID_USED');
    draft.emit({
      type: 'PaymentProviderIdSet',
      at: now,
      paymentProviderId: personal(state.account, paymentProviderId),
    });
  }
  if (!isReferred && codeOwner) attributeByCode(draft, codeOwner, context);
  return draft.decision();
}

/** Needed before an account without a provider id records this one. */
export const reservationOfProviderId = (state: OpenAccount, id: string): NeededReservation => ({
  kind: 'reservation',
  what: { kind: 'payment-provider-id', id, subject: state.account },
  lapses: state.remains.lapses,
});
