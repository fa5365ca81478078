import * as z from 'zod';
import type { RewardValue } from '../../../domain/program.js';
import { isUnit, trimmedUnit } from '../../../domain/units.js';
import { accountOfId } from '../../../privacy/keyed-names.js';
import { checkUnit } from '../../ledger/known-unit.js';
import { notDoneAbout } from '../../outcome.js';
import { reason, text, textUpTo, wholeNumber } from '../../registry/members.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT } from './account-action.js';

/** Also of a reward that a moderation cancelled: approving does not restore it then. */
export const cancelReward = recordedOperation({
  name: 'reward cancel',
  summary: 'cancels a reward of which nothing is redeemed',
  members: { account: OF_USER.account, reward: text, reason },
  ...SUPPORT,
  record: async (context, { account, reward: rewardId, reason: why }) => {
    const { core, scope } = context;
    if (accountOfId(rewardId) !== core.names.accountRef(scope, account))
      throw notDoneAbout('reward', 'There is no such reward in this account.');
    return actOnAccount(context, {
      operation: 'reward cancel',
      asked: { account, rewardId, why },
      command: { type: 'CancelReward', rewardId, reason: why },
      parameters: { reward: rewardId },
      reason: why,
    });
  },
});

export const GRANT_MEMBERS = {
  ...OF_USER,
  type: z.enum(['CREDIT', 'PCT_DISCOUNT']),
  /** Of credit, an integer of the unit. */
  amount: wholeNumber(Number.MAX_SAFE_INTEGER).optional(),
  unit: text.transform(trimmedUnit).refine(isUnit, 'must be a unit').optional(),
  /** Of a discount. */
  percent: wholeNumber(100).optional(),
  name: textUpTo(255).optional(),
  /** Epoch milliseconds; undefined: never. */
  expires: z.int().optional(),
  reason,
};

type AskedGrant = z.output<z.ZodObject<typeof GRANT_MEMBERS>>;

export const grantReward = recordedOperation({
  name: 'reward grant',
  summary: 'grants a reward to a user',
  members: GRANT_MEMBERS,
  ...SUPPORT,
  record: async (context, request) => {
    const { tenant: _, mode: __, ...asked } = request;
    const value = valueOf(asked);
    const { core, scope } = context;
    if (value.type === 'CREDIT')
      await checkUnit(core, scope, { account: asked.account, unit: value.unit });
    return actOnAccount(context, {
      operation: 'reward grant',
      asked,
      command: {
        type: 'CreateReward',
        userId: asked.user,
        value,
        name: asked.name ?? null,
        description: null,
        cancellable: true,
        dateScheduledFor: null,
        dateExpires: asked.expires ?? null,
        reason: asked.reason,
      },
      result: ({ events }) => ({
        rewardId: events.flatMap((event) =>
          event.type === 'RewardGranted' ? event.rewardId : [],
        )[0],
      }),
      parameters: {
        type: asked.type,
        amount: asked.amount,
        unit: asked.unit,
        percent: asked.percent,
      },
      reason: asked.reason,
    });
  },
});

/** @throws {NotDone} when a member of its type is missing. */
function valueOf({
  type,
  amount,
  unit,
  percent,
}: AskedGrant): Exclude<RewardValue, { type: 'FUELTANK' }> {
  if (type === 'PCT_DISCOUNT') {
    if (percent === undefined) throw notDoneAbout('percent', 'Enter a percentage from 1 to 100.');
    return { type, discountPercent: percent, monthsDiscountIsValid: null };
  }
  if (unit === undefined) throw notDoneAbout('unit', 'Choose the unit of the credit.');
  if (amount === undefined) throw notDoneAbout('amount', 'Enter an amount above 0.');
  return { type, unit, assignedCredit: amount, currency: null };
}
