import type { Named } from './idempotent-requests.js';
import type { Written } from './ledger.js';

/** Whom the members of kept answers tell of: each is kept under that subject's key, and null once the key is destroyed. */

const OF_ACCOUNT = ['accountId', 'paymentProviderId'];
const OF_REFERRER = ['referredBy', 'referredByCodes'];

/** A user's answer, whole or in part, tells of the person, of the account, and by a code of who referred it. */
export function namedInUser({ state }: Written, userId: string, user: unknown): readonly Named[] {
  const person = state.personsByUserId.get(userId);
  const others = Object.keys(Object(user) as object).filter((member) => !OF_ACCOUNT.includes(member) && !OF_REFERRER.includes(member));
  return [
    { subject: state.account, members: OF_ACCOUNT },
    ...(person === undefined ? [] : [{ subject: person, members: others }]),
    ...(state.attribution ? [{ subject: state.attribution.codeSubject, members: OF_REFERRER }] : []),
  ];
}

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
