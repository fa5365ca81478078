import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import { personal } from '../../../src/domain/personal.js';
import type { SideStatus } from '../../../src/domain/program.js';
import {
  accountAttributed,
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  discount,
  erasureCompleted,
  erasureRequested,
  partyOf,
  referralCodeAssigned,
  referralConverted,
  referralStarted,
  rewardCancelled,
  rewardGranted,
  subscriptionChanged,
  tankCode,
  userIdentified,
} from '../../support/account-events.js';
import type { ProjectedLedger } from '../../support/projected-ledger.js';

/** A tenant with customers in every state that lists show. */

export const SCOPE = { tenant: 'demo', mode: 'live' } as const;
export const NOW = 50_000;
/** A referrer who is forgotten at the end. */
export const FORGOTTEN_USER = 'user-9';

const NAMES: readonly (readonly [string | null, string | null])[] = [
  ['Ann', 'Ólafsdóttir'],
  [null, null],
  ['Bo', null],
  ['Jana', 'Frank'],
  [null, 'Novák'],
  ['bea', 'Zed'],
];
const NUMBERS = [...Array(12).keys()];
const STATUSES = ['PAID', 'TRIAL', 'FREE', 'CANCELLED'] as const;
const SIDES: readonly SideStatus[] = ['APPROVED', 'PENDING', 'DENIED'];

export const accountOf = (accountId: string) => anAccount(accountId);
const ownAccount = (n: number) => accountOf(`account-${n}`);
const party = (n: number) => partyOf(ownAccount(n), `user-${n}`);

export async function givenTenant(projected: ProjectedLedger): Promise<void> {
  for (const n of NUMBERS) await projected.given(ownAccount(n), ...eventsOf(n));
  const crowd = accountOf('crowd');
  const people = ['a', 'b', 'c', 'd', 'e'].map((id) => userIdentified(crowd, id, {}, 40_000));
  await projected.given(crowd, accountOpened(crowd, { at: 40_000 }), ...people);
  const { person } = party(9);
  await projected.given(ownAccount(9), erasureRequested([person]), erasureCompleted([person]));
}

function eventsOf(n: number): readonly AccountEvent[] {
  const account = ownAccount(n);
  const [firstName = null, lastName = null] = NAMES[n] ?? [];
  const at = 1_000 + n * 100;
  const status = STATUSES[n % 5];
  const email = n === 5 ? { email: null } : {};
  return [
    accountOpened(account, { at, currency: n % 2 === 0 ? 'USD' : 'EUR' }),
    ...(status ? [subscriptionChanged({ status })] : []),
    userIdentified(account, `user-${n}`, { firstName, lastName, ...email }, at),
    ...codesOf(n),
    ...(n % 4 === 1 ? [{ type: 'UserBlocked' as const, at: at + n, person: party(n).person }] : []),
    ...referralOf(n),
    ...rewardsOf(n),
  ];
}

function codesOf(n: number): readonly AccountEvent[] {
  if (n % 3 !== 1) return [];
  const code = (text: string, program?: string) =>
    referralCodeAssigned(ownAccount(n), `user-${n}`, text, 1_400, program);
  return [
    code(`OLD-CODE-${n}`),
    code(`CODE-${n}`),
    ...(n === 4 ? [code('PARTNER4', 'partners')] : []),
  ];
}

/** Each account is referred by the one before, but for the first, and one by the forgotten user. */
function referralOf(n: number): readonly AccountEvent[] {
  if (n === 0) return [];
  const [id, referrer] = [`referral-${n}`, party(n === 5 ? 3 : n - 1)];
  const statuses = {
    referredStatus: SIDES[n % 3] ?? 'APPROVED',
    referrerStatus: n === 11 ? 'DENIED' : (SIDES[n === 5 ? 0 : n % 2] ?? 'APPROVED'),
  };
  return [
    accountAttributed('CODE', referrer),
    referralStarted(id, party(n), referrer, {
      ...statuses,
      at: 2_000 + n,
      programId: n === 6 ? 'partners' : 'default',
      fraudSignals: n === 7 ? { email: { message: 'same', score: 1 } } : {},
    }),
    ...(n % 3 === 0 ? [] : [referralConverted(id, referrer, { ...statuses, at: 3_000 + n })]),
    ...(n % 5 === 0 ? [{ type: 'ReferralEnded' as const, at: 4_000, referralId: id }] : []),
  ];
}

const DATES = {
  past: { dateExpires: NOW },
  future: { dateScheduledFor: NOW + 1, dateExpires: NOW + 10_000 },
  due: { dateScheduledFor: NOW, redeemsAutomatically: true },
} as const;

const FROM_PARTNERS = { source: 'REFERRED', programId: 'partners' } as const;

function rewardsOf(n: number): readonly AccountEvent[] {
  const at = 2_100 + n;
  const give = (
    name: string,
    value: Parameters<typeof rewardGranted>[2],
    over: Parameters<typeof rewardGranted>[3] = {},
  ) => rewardGranted(`reward-${name}-${n}`, party(n), value, { at, ...over });
  const texts = personal(party(n).person, { name: 'Welcome gift', description: null });
  switch (n) {
    case 2: {
      const [whole, part, over] = [
        give('whole', credit(100), DATES.past),
        give('part', credit(100)),
        give('over', credit(100), DATES.past),
      ];
      return [
        whole,
        part,
        over,
        creditRedeemed(whole, 'd1', 100, 3_000),
        creditRedeemed(part, 'd2', 40, 3_000),
        creditRedeemed(over, 'd3', 30, 3_000),
      ];
    }
    case 3:
      return [
        give('later', credit(700, 'POINTS'), DATES.future),
        give('now', credit(250, 'POINTS'), { texts }),
        give('friend', credit(10), { source: 'FRIEND_SIGNUP', referralId: 'referral-5' }),
      ];
    case 4: {
      const [lost, tank] = [give('lost', credit(90, 'CENTS', 'USD')), give('tank', tankCode('T1'))];
      return [lost, tank, rewardCancelled(lost, 90, 3_100)];
    }
    case 5:
      return [give('due', credit(80), DATES.due), give('percent', discount(10), DATES.future)];
    case 6:
      return [give('program', credit(5, 'CENTS', 'EUR'), FROM_PARTNERS)];
    case 9:
      return [give('gone', credit(1_000))];
    default:
      return n > 9 ? [give('percent', discount(n)), give('expired', discount(n), DATES.past)] : [];
  }
}
