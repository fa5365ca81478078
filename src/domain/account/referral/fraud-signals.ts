import { foldedText } from '../../folded-text.js';
import type { FraudCriterion, FraudHandling, SideStatus } from '../../program.js';
import type { FraudSignal, Profile } from '../account.events.js';

/** The compared part of a profile. */
export type ComparedProfile = Pick<
  Profile,
  'firstName' | 'lastName' | 'email' | 'firstSeenIP' | 'lastSeenIP'
>;

const SCORE = 50;

/** Only the similarity: the message outlasts the people, and all viewers see it. */
const MESSAGES: Readonly<Record<FraudCriterion, string>> = {
  name: 'Both sides have the same name',
  email: 'The e-mail addresses of both sides are alike',
  ip: 'Both sides were seen at the same IP address',
  rate: 'The referrer made too many referrals in a short time',
};

export type FraudSignals = Readonly<Partial<Record<FraudCriterion, FraudSignal>>>;

export const signal = (criterion: FraudCriterion): FraudSignals => ({
  [criterion]: { message: MESSAGES[criterion], score: SCORE },
});

export function findSimilarities(a: ComparedProfile, b: ComparedProfile): FraudSignals {
  return {
    ...(haveSameName(a, b) ? signal('name') : {}),
    ...(haveLikeEmail(a.email, b.email) ? signal('email') : {}),
    ...(haveSameIpAddress(a, b) ? signal('ip') : {}),
  };
}

/** The status of a side after its signals; never better than before. */
export function downgradeStatus(
  byDefault: SideStatus,
  signals: object,
  handling: Readonly<Record<FraudCriterion, FraudHandling>>,
): SideStatus {
  const handlings = Object.entries(handling).flatMap(([criterion, what]) =>
    Object.hasOwn(signals, criterion) ? [what] : [],
  );
  if (byDefault === 'DENIED' || handlings.includes('deny')) return 'DENIED';
  return handlings.includes('pending') ? 'PENDING' : byDefault;
}

const word = (text: string | null): string => foldedText((text ?? '').trim());

/** Also swapped. Half a name does not match. */
function haveSameName(a: ComparedProfile, b: ComparedProfile): boolean {
  const [first, last] = [word(a.firstName), word(a.lastName)];
  const [otherFirst, otherLast] = [word(b.firstName), word(b.lastName)];
  if (first === '' || last === '') return false;
  return (
    (first === otherFirst && last === otherLast) || (first === otherLast && last === otherFirst)
  );
}

/** Equal local parts, or addresses that are equal without dots and plus suffix. */
function haveLikeEmail(a: string | null, b: string | null): boolean {
  const [one, other] = [partsOf(a), partsOf(b)];
  if (!one || !other) return false;
  if (one.local === other.local) return true;
  return one.domain === other.domain && plain(one.local) === plain(other.local);
}

function partsOf(
  email: string | null,
): { readonly local: string; readonly domain: string } | undefined {
  const text = word(email);
  const at = text.lastIndexOf('@');
  return at > 0 ? { local: text.slice(0, at), domain: text.slice(at + 1) } : undefined;
}

const plain = (local: string): string => local.replace(/\+.*$/, '').replaceAll('.', '');

function haveSameIpAddress(a: ComparedProfile, b: ComparedProfile): boolean {
  const seen = [a.firstSeenIP, a.lastSeenIP].filter((address) => address !== null);
  return [b.firstSeenIP, b.lastSeenIP].some(
    (address) => address !== null && seen.includes(address),
  );
}
