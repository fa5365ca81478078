import type { PersonId } from '../../domain/account/account.events.js';
import type { Named } from '../../idempotency/idempotency-key.js';
import { PERSONAL_MEMBERS_OF_REWARD } from '../../presenting/reward.response.js';
import type { UserResponse } from '../../presenting/user.response.js';
import type { Written } from './command-gateway.js';

/**
 * The subject of each member of a kept answer: the member is encrypted with that subject's key, and
 * null or empty once the key is destroyed.
 */

const OF_ACCOUNT = ['accountId', 'paymentProviderId'];
const OF_REFERRER = ['referredBy', 'referredByCodes'];
/** Members without personal data, which clients rely on. */
const IMPERSONAL = ['dateCreated', 'dateBlocked', 'referable'];
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
 * The client's id of a write's user; also in an answer that is repeated after the user was
 * forgotten.
 */
export function personOfWrite({ state, events }: Written, userId: string): PersonId | undefined {
  const known = state.personsByUserId.get(userId);
  const about = known === undefined ? events.find((event) => 'person' in event) : undefined;
  return about && 'person' in about ? about.person : known;
}

/**
 * A user's answer, whole or in part, is about the person, the account and, through a code, the
 * referrer.
 */
export function personalFieldsOfUser(
  written: Written,
  userId: string,
  user: unknown,
): readonly Named[] {
  const { state } = written;
  const person = personOfWrite(written, userId);
  const known = new Set([...OF_ACCOUNT, ...OF_REFERRER, ...IMPERSONAL]);
  const others = Object.keys(Object(user) as object).filter((member) => !known.has(member));
  return [
    { subject: state.account, members: OF_ACCOUNT },
    ...(person === undefined ? [] : [{ subject: person, members: others, empty: EMPTY }]),
    ...(state.attribution
      ? [
          {
            subject: state.attribution.codeSubject,
            members: OF_REFERRER,
            empty: { ...EMPTY, referredBy: withoutCode(user) },
          },
        ]
      : []),
  ];
}

/** The referral stays when the referrer is forgotten. Undefined: the answer names none. */
function withoutCode(user: unknown): object | undefined {
  const { referredBy } = Object(user) as Partial<Pick<UserResponse, 'referredBy'>>;
  return referredBy ? { ...referredBy, code: null } : undefined;
}

/** A reward's user and texts; its value identifies no one. */
export function personalFieldsOfReward(
  { state }: Written,
  rewardId: string | undefined,
): readonly Named[] {
  const reward = rewardId === undefined ? undefined : state.rewards.get(rewardId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(reward ? [{ subject: reward.person, members: PERSONAL_MEMBERS_OF_REWARD }] : []),
  ];
}

/** For answers of figures alone. */
export const noPersonalFields = (): readonly Named[] => [];

/** A user's events belong to the user. */
export function personalFieldsOfEvents(written: Written, userId: string): readonly Named[] {
  const { state } = written;
  const person = personOfWrite(written, userId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(person === undefined ? [] : [{ subject: person, members: ['userId', 'events'] }]),
  ];
}

/** The answer to an applied code is about the owner of the code, not about its user. */
export function personalFieldsOfCode({ state }: Written): readonly Named[] {
  return state.attribution
    ? [{ subject: state.attribution.codeSubject, members: ['code', 'referrerName'] }]
    : [];
}
