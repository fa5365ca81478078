import type { PersonId } from '../../domain/account/account.events.js';
import type { Named } from '../../kept-answers/idempotency-key.js';
import type { Written } from './command-gateway.js';

/**
 * Whom the members of kept answers tell of: each is kept under that subject's key, and null or
 * empty once the key is destroyed.
 */

const OF_ACCOUNT = ['accountId', 'paymentProviderId'];
const OF_REFERRER = ['referredBy', 'referredByCodes'];
/** They tell of nobody, and clients rely on them. */
const OF_NOBODY = ['dateCreated', 'dateBlocked', 'referable'];
/** Never null in any answer. */
const EMPTY = {
  imageUrl: '',
  segments: [],
  referredByCodes: [],
  referralCodes: {},
  programShareLinks: {},
  customFields: {},
};

/**
 * Of whom a write was, by the client's id; also when it is told again and that person is forgotten
 * since.
 */
export function personWritten({ state, events }: Written, userId: string): PersonId | undefined {
  const known = state.personsByUserId.get(userId);
  const about = known === undefined ? events.find((event) => 'person' in event) : undefined;
  return about && 'person' in about ? about.person : known;
}

/**
 * A user's answer, whole or in part, tells of the person, of the account, and by a code of who
 * referred it.
 */
export function namedInUser(written: Written, userId: string, user: unknown): readonly Named[] {
  const { state } = written;
  const person = personWritten(written, userId);
  const known = new Set([...OF_ACCOUNT, ...OF_REFERRER, ...OF_NOBODY]);
  const others = Object.keys(Object(user) as object).filter((member) => !known.has(member));
  return [
    { subject: state.account, members: OF_ACCOUNT },
    ...(person === undefined ? [] : [{ subject: person, members: others, empty: EMPTY }]),
    ...(state.attribution
      ? [{ subject: state.attribution.codeSubject, members: OF_REFERRER, empty: EMPTY }]
      : []),
  ];
}

/** Whose a reward is, and what is said of it; what it is worth names nobody. */
export function namedInReward({ state }: Written, rewardId: string | undefined): readonly Named[] {
  const reward = rewardId === undefined ? undefined : state.rewards.get(rewardId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(reward
      ? [{ subject: reward.person, members: ['userId', 'name', 'description', 'fuelTankCode'] }]
      : []),
  ];
}

/** For answers that hold figures alone. */
export const namedInFigures = (): readonly Named[] => [];

/** What a user did is the user's own. */
export function namedInEvents(written: Written, userId: string): readonly Named[] {
  const { state } = written;
  const person = personWritten(written, userId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(person === undefined ? [] : [{ subject: person, members: ['userId', 'events'] }]),
  ];
}

/** The answer to a code that was applied tells of the owner of the code, not of who used it. */
export function namedInCode({ state }: Written): readonly Named[] {
  return state.attribution
    ? [{ subject: state.attribution.codeSubject, members: ['code', 'referrerName'] }]
    : [];
}
