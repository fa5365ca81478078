import type { RewardValue } from '../../domain/program.js';

/** What a tank code is worth is not its code, which is shown to nobody here. */
type WordedValue =
  | Pick<Extract<RewardValue, { type: 'CREDIT' }>, 'type' | 'unit' | 'assignedCredit'>
  | Extract<RewardValue, { type: 'PCT_DISCOUNT' }>
  | Pick<Extract<RewardValue, { type: 'FUELTANK' }>, 'type' | 'fuelTankType' | 'amount' | 'unit'>;

/** A reward in words that fit any language: `10 USD`, `15 %`. */
export function rewardText(value: WordedValue): string {
  switch (value.type) {
    case 'CREDIT':
      return `${value.assignedCredit} ${value.unit}`;
    case 'PCT_DISCOUNT':
      return `${value.discountPercent} %`;
    case 'FUELTANK':
      return value.fuelTankType === 'PCT_DISCOUNT'
        ? `${value.amount} %`
        : `${value.amount} ${value.unit ?? ''}`.trim();
  }
}
