import type { RewardState } from './rewards/reward-state.js';

/** An integer with thousands separators: `1,200`. */
const withThousands = (amount: number): string => String(amount).replace(/\B(?=(?:\d{3})+$)/g, ',');

export const isoTime = (at: number): string => new Date(at).toISOString();

export const expiredBy = (now: number): string =>
  `dateExpires must lie in the future, after ${isoTime(now)}`;

/** @param sign required sign, as in "above zero". */
export const notAnAmount = (amount: number, sign: string): string =>
  `The amount ${amount} must be a whole number ${sign}`;

export const tooLittleAvailable = (amount: number, available: number, unit: string): string =>
  `The amount ${withThousands(amount)} exceeds the available credit ${withThousands(available)} ${unit}`;

export const notCredit = ({ value }: RewardState): string =>
  `Only credit can be redeemed, and the reward is of type ${value.type}`;

export const differentUnit = (unit: string, ofReward: string): string =>
  `The reward is in ${ofReward}: redeem it with this unit instead of ${unit}`;

/** The wording is part of the contract. */
export const tooLittleLeft = (left: number): string => `amount exceeds what is left (${left})`;

/** The wording is part of the contract. */
export const SPENT = 'The reward has already been redeemed';

export function notAvailable({
  dateCancelled,
  dateExpires,
  dateScheduledFor,
  phase,
}: RewardState): string {
  if (dateCancelled !== null) return `The reward was cancelled at ${isoTime(dateCancelled)}`;
  if (phase === 'EXPIRED' && dateExpires !== null)
    return `The reward expired at ${isoTime(dateExpires)}`;
  if (dateScheduledFor !== null)
    return `The reward is not available before ${isoTime(dateScheduledFor)}`;
  return 'The reward is not available';
}

export function notCancellable({ redeemed, payTo, value }: RewardState): string {
  const unit = value.type === 'CREDIT' ? ` ${value.unit}` : '';
  if (redeemed > 0)
    return `The reward cannot be cancelled: ${withThousands(redeemed)}${unit} of it were redeemed`;
  return payTo === undefined
    ? 'The reward cannot be cancelled: it was given as not cancellable'
    : 'The reward cannot be cancelled: the payment provider pays it';
}

export const sumTooLarge = (unit: string, max: number): string =>
  `All ${unit} ever assigned to the account would be more than ${withThousands(max)}: assign less`;
