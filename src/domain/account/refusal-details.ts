import type { RewardState } from './rewards/reward-state.js';

/** Why a decision refused, in words for the client: the value, the rule, the way out. */

/** An integer with commas between thousands: `1,200`. */
const figure = (amount: number): string => String(amount).replace(/\B(?=(?:\d{3})+$)/g, ',');

export const moment = (at: number): string => new Date(at).toISOString();

export const expiredBy = (now: number): string =>
  `dateExpires must lie in the future, after ${moment(now)}`;

/** @param sign that it may have, as in "above zero". */
export const notAnAmount = (amount: number, sign: string): string =>
  `The amount ${amount} must be a whole number ${sign}`;

export const tooLittleAvailable = (amount: number, available: number, unit: string): string =>
  `The amount ${figure(amount)} exceeds the available credit ${figure(available)} ${unit}`;

export const notCredit = ({ value }: RewardState): string =>
  `Only credit can be redeemed, and the reward is of type ${value.type}`;

export const anotherUnit = (unit: string, ofReward: string): string =>
  `The reward is in ${ofReward}: redeem it with this unit instead of ${unit}`;

/** The wording is a part of the interface. */
export const tooLittleLeft = (left: number): string => `amount exceeds what is left (${left})`;

/** The wording is a part of the interface. */
export const SPENT = 'The reward has already been redeemed';

export function notAvailable({
  dateCancelled,
  dateExpires,
  dateScheduledFor,
  phase,
}: RewardState): string {
  if (dateCancelled !== null) return `The reward was cancelled at ${moment(dateCancelled)}`;
  if (phase === 'EXPIRED' && dateExpires !== null)
    return `The reward expired at ${moment(dateExpires)}`;
  if (dateScheduledFor !== null)
    return `The reward is not available before ${moment(dateScheduledFor)}`;
  return 'The reward is not available';
}

export function notCancellable({ redeemed, payTo, value }: RewardState): string {
  const unit = value.type === 'CREDIT' ? ` ${value.unit}` : '';
  if (redeemed > 0)
    return `The reward cannot be cancelled: ${figure(redeemed)}${unit} of it were redeemed`;
  return payTo === undefined
    ? 'The reward cannot be cancelled: it was given as not cancellable'
    : 'The reward cannot be cancelled: the payment provider pays it';
}

export const sumTooLarge = (unit: string, max: number): string =>
  `All ${unit} ever assigned to the account would be more than ${figure(max)}: assign less`;
