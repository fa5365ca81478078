import type { AccountEvent } from '../../domain/account/account.events.js';
import { amountLeft } from '../../domain/account/account.state.js';
import { availableCredit } from '../../domain/account/rewards/redemption.js';
import { answerOf, integer, text } from '../../presenting/answer-members.js';
import type { Written } from '../writing/command-gateway.js';

export class RedemptionResultResponse extends answerOf({
  creditRedeemed: integer,
  creditAvailable: integer,
  unit: text,
}) {}

export function rewardRedemptionJson(
  { state, events }: Written,
  { rewardId, unit }: { readonly rewardId: string; readonly unit: string },
): RedemptionResultResponse {
  const reward = state.rewards.get(rewardId);
  return {
    creditRedeemed: redeemed(events),
    creditAvailable: reward ? amountLeft(reward) : 0,
    unit: redemptionsIn(events)[0]?.unit ?? unit,
  };
}

/** As of the redemption, even in a repeated answer. */
export function accountRedemptionJson(
  { state, events }: Written,
  unit: string,
): RedemptionResultResponse {
  const [first] = redemptionsIn(events);
  return {
    creditRedeemed: redeemed(events),
    creditAvailable: availableCredit(state, unit, first?.at ?? Date.now()),
    unit: first?.unit ?? unit,
  };
}

const redemptionsIn = (events: readonly AccountEvent[]) =>
  events.filter(
    (event) => event.type === 'CreditRedeemed' || event.type === 'AccountCreditRedeemed',
  );

const redeemed = (events: readonly AccountEvent[]): number =>
  redemptionsIn(events).reduce((sum, { amount }) => sum + amount, 0);
