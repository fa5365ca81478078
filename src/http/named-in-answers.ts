import type { Named } from './idempotent-requests.js';
import type { Written } from './ledger.js';

/** Whom the members of kept answers tell of: each is kept under that subject's key, and null or empty once the key is destroyed. */

const OF_ACCOUNT = ['accountId', 'paymentProviderId'];
const OF_REFERRER = ['referredBy', 'referredByCodes'];
/** They tell of nobody, and clients rely on them. */
const OF_NOBODY = ['dateCreated', 'dateBlocked', 'referable'];
/** Never null in any answer. */
const EMPTY = { imageUrl: '', segments: [], referredByCodes: [], referralCodes: {}, programShareLinks: {}, customFields: {} };

/** A user's answer, whole or in part, tells of the person, of the account, and by a code of who referred it. */
export function namedInUser({ state }: Written, userId: string, user: unknown): readonly Named[] {
  const person = state.personsByUserId.get(userId);
  const known = new Set([...OF_ACCOUNT, ...OF_REFERRER, ...OF_NOBODY]);
  const others = Object.keys(Object(user) as object).filter((member) => !known.has(member));
  return [
    { subject: state.account, members: OF_ACCOUNT },
    ...(person === undefined ? [] : [{ subject: person, members: others, empty: EMPTY }]),
    ...(state.attribution ? [{ subject: state.attribution.codeSubject, members: OF_REFERRER, empty: EMPTY }] : []),
  ];
}

/** Whose a reward is, and what is said of it; what it is worth names nobody. */
export function namedInReward({ state }: Written, rewardId: string | undefined): readonly Named[] {
  const reward = rewardId === undefined ? undefined : state.rewards.get(rewardId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(reward ? [{ subject: reward.person, members: ['userId', 'name', 'description', 'fuelTankCode'] }] : []),
  ];
}

/** For answers that hold figures alone. */
export const namedInFigures = (): readonly Named[] => [];

/** What a user did is the user's own. */
export function namedInEvents({ state }: Written, userId: string): readonly Named[] {
  const person = state.personsByUserId.get(userId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(person === undefined ? [] : [{ subject: person, members: ['userId', 'events'] }]),
  ];
}

/** The answer to a code that was applied tells of the owner of the code, not of who used it. */
export function namedInCode({ state }: Written): readonly Named[] {
  return state.attribution ? [{ subject: state.attribution.codeSubject, members: ['code', 'referrerName'] }] : [];
}
