import * as z from 'zod';
import { ReferralQueries } from '../../../../projections/referrals/queries.js';
import type { Scope } from '../../../domain/scope.js';
import type { Core } from '../../../stores/core.js';
import { NotDone } from '../../outcome.js';
import { readFrom } from '../../rebuilt-read-models.js';
import { recordedOperation } from '../../registry/operation.js';
import { actOnAccount, OF_USER, SUPPORT, userNow } from './account-action.js';

/** Referrals of an account that are read for the preview. */
const REFERRALS_READ_MAX = 1_000;

/**
 * What forgetting a user does to rewards, for the page that confirms it.
 * @throws {NotDone} USER_NOT_FOUND, and while the referrals are being rebuilt.
 */
export async function beforeForgetting(
  core: Pick<Core, 'names' | 'streams' | 'pool'>,
  scope: Scope,
  asked: { readonly account: string; readonly user: string },
) {
  const { accountRef, state, person } = await userNow(core, scope, asked);
  const lost = [...state.rewards.values()]
    .filter((reward) => reward.person === person && reward.dateCancelled === null)
    .map(({ rewardId, value, redeemed }) => ({ rewardId, value, redeemed }));
  const referrals = await readFrom(core, 'referrals', ReferralQueries, async (queries) => {
    const whose = { accountRef, person };
    const made = await queries.pageMadeBy(scope, whose, undefined, REFERRALS_READ_MAX);
    const isReferred = state.referral?.referred.person === person;
    const own = isReferred && (await queries.byId(scope, state.referral.referralId));
    return [
      ...made.items.map((one) => [one.referralId, 'referred', one.referredRewardId] as const),
      ...(own ? [[own.referralId, 'referrer', own.referrerRewardId] as const] : []),
    ];
  });
  return {
    /** The user's own: they are shown no longer and cannot be redeemed. */
    lost,
    /** Of the other side of the user's referrals: they stay. */
    staying: referrals.flatMap(([referralId, side, rewardId]) =>
      rewardId === null ? [] : [{ rewardId, side, referralId }],
    ),
  };
}

/** The account stays, also with its last user. */
export const forgetUser = recordedOperation({
  name: 'user forget',
  summary: 'forgets a user: name, address, code and events are destroyed',
  members: {
    ...OF_USER,
    /** The user id is never registered again in this account. */
    refuseInFuture: z.boolean().default(false),
  },
  ...SUPPORT,
  record: async (context, { account, user, refuseInFuture }) => {
    const asked = { account, user };
    const preview = await beforeForgetting(context.core, context.scope, asked).catch(
      (error: unknown) => {
        // A form that is sent again: its key has the answer.
        if (error instanceof NotDone && error.code === 'USER_NOT_FOUND') return undefined;
        throw error;
      },
    );
    return actOnAccount(context, {
      asked: { ...asked, refuseInFuture },
      command: {
        type: 'ForgetUser',
        userId: user,
        doNotTrack: refuseInFuture,
        preserveEmptyAccount: true,
      },
      result: () => ({ staying: preview?.staying ?? [] }),
      parameters: { refuseInFuture },
    });
  },
});
