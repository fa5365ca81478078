import type { PersonId } from '../../domain/account/account.events.js';
import type { PersonalMembers } from '../../idempotency/idempotency-key.js';
import { PERSONAL_MEMBERS_OF_REWARD } from '../../presenting/reward.response.js';
import type { UserResponse } from '../../presenting/user.response.js';
import type { Written } from './command-gateway.js';

/**
 * The subject of each member of a stored answer, whose key encrypts it. Once the key is destroyed,
 * the member is null or empty.
 */

const OF_ACCOUNT = ['accountId', 'paymentProviderId'];
const OF_REFERRER = ['referredBy', 'referredByCodes'];
/** Members without personal data, on which clients rely. */
const WITHOUT_PERSONAL_DATA = ['dateCreated', 'dateBlocked', 'referable'];
/** Members that are never null. */
const EMPTY = {
  imageUrl: '',
  segments: [],
  referredByCodes: [],
  referralCodes: {},
  programShareLinks: {},
  customFields: {},
};

/** The person of a write's user, even in a repeated answer after the user was forgotten. */
export function personOfWrite({ state, events }: Written, userId: string): PersonId | undefined {
  const known = state.personsByUserId.get(userId);
  const about = known === undefined ? events.find((event) => 'person' in event) : undefined;
  return about && 'person' in about ? about.person : known;
}

/** Subjects of a user's answer: the person, the account and, through a code, the referrer. */
export function personalFieldsOfUser(
  written: Written,
  userId: string,
  user: unknown,
): readonly PersonalMembers[] {
  const { state } = written;
  const person = personOfWrite(written, userId);
  const known = new Set([...OF_ACCOUNT, ...OF_REFERRER, ...WITHOUT_PERSONAL_DATA]);
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

/** The referral without its code, when the referrer is forgotten. */
function withoutCode(user: unknown): object | undefined {
  const { referredBy } = Object(user) as Partial<Pick<UserResponse, 'referredBy'>>;
  return referredBy ? { ...referredBy, code: null } : undefined;
}

/** Subject of a reward's user and texts; its value identifies no person. */
export function personalFieldsOfReward(
  { state }: Written,
  rewardId: string | undefined,
): readonly PersonalMembers[] {
  const reward = rewardId === undefined ? undefined : state.rewards.get(rewardId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(reward ? [{ subject: reward.person, members: PERSONAL_MEMBERS_OF_REWARD }] : []),
  ];
}

/** For answers with figures only. */
export const noPersonalFields = (): readonly PersonalMembers[] => [];

/** A user's events belong to the user. */
export function personalFieldsOfEvents(
  written: Written,
  userId: string,
): readonly PersonalMembers[] {
  const { state } = written;
  const person = personOfWrite(written, userId);
  return [
    { subject: state.account, members: ['accountId'] },
    ...(person === undefined ? [] : [{ subject: person, members: ['userId', 'events'] }]),
  ];
}

/** The answer about an applied code concerns the code's owner. */
export function personalFieldsOfCode({ state }: Written): readonly PersonalMembers[] {
  return state.attribution
    ? [{ subject: state.attribution.codeSubject, members: ['code', 'referrerName'] }]
    : [];
}
