import type { Answer, LedgerClient } from '../../test/harness/ledger-client.js';
import type { SeededRandom } from '../../test/harness/seeded-random.js';
import { LARGE, MANY_REWARDS, TOP_REFERRER, UNIT, type FilledAccounts } from './filled-accounts.js';

/**
 * The calls that are measured: every GET route of a tenant, its lists in several ways, and writes.
 */

export interface ScaleCall {
  readonly name: string;
  /** Of the interface's description, below the tenant; undefined: a write. */
  readonly route?: string;
  /** It reads, skips or answers with all there is, so it grows with that. */
  readonly isListOfAll?: boolean;
  /** The expected status; default 200. */
  readonly status?: number;
  readonly call: (on: Filled) => Promise<Answer>;
}

/** A filled ledger, and whom the next call is about. */
export interface Filled {
  readonly client: LedgerClient;
  readonly accounts: FilledAccounts;
  readonly random: SeededRandom;
  /** Of an export that is complete. */
  readonly exportId: string;
  /** A number that no call has had. */
  readonly next: () => number;
  /** The accounts that were written. */
  readonly written: Set<number>;
}

/** Any account of the large tenant. */
function anyOf({ accounts, random }: Filled, matches = (_: number): boolean => true): number {
  for (;;) {
    const number = random.integer(0, accounts.size - 1);
    if (accounts.scopeOf(number).tenant === LARGE && matches(number)) return number;
  }
}

/**
 * An account of the large tenant that no call has written: a second command finds it in memory, and
 * would do so more often the smaller the ledger is. @throws when there are too few.
 */
function unwrittenOf(on: Filled, matches = (_: number): boolean => true): number {
  if (on.written.size > on.accounts.size / 2)
    throw new Error(`too many calls for ${on.accounts.size} accounts: lower SCALE_TIMES`);
  const number = anyOf(on, (number) => !on.written.has(number) && matches(number));
  on.written.add(number);
  return number;
}

type Path = (on: Filled) => string;

function get(route: string, path: Path, more: Partial<ScaleCall> = {}): ScaleCall {
  const name = `GET ${route}`;
  return { name, route, call: (on) => on.client.get(path(on)), ...more };
}

const accountOf = (on: Filled): string => on.accounts.accountId(anyOf(on));
const codeOf = (on: Filled): string => on.accounts.code(anyOf(on));

const userPath = (on: Filled): string => userPathOf(on, anyOf(on));

function userPathOf(on: Filled, number: number): string {
  return `account/${on.accounts.accountId(number)}/user/${on.accounts.userId(number)}`;
}

/** In the middle of a list of so many of ten accounts. */
const middle = ({ accounts }: Filled, ofTen: number): number =>
  Math.floor((accounts.size * ofTen) / 20);

export const READS: readonly ScaleCall[] = [
  get('account/{accountId}', (on) => `account/${accountOf(on)}`),
  get('account/{accountId}/reward', (on) => `account/${accountOf(on)}/reward`),
  get('account/{accountId}/discount', (on) => `account/${accountOf(on)}/discount`),
  get('account/{accountId}/user/{userId}', userPath),
  get('account/{accountId}/user/{userId}/pii', (on) => `${userPath(on)}/pii`),
  get('account/{accountId}/user/{userId}/sharelinks', (on) => `${userPath(on)}/sharelinks`),
  get('account/{accountId}/user/{userId}/shareurls', (on) => `${userPath(on)}/shareurls`),
  get('user', (on) => `user?referralCode=${codeOf(on)}`),
  get('users', () => 'users?limit=100'),
  get('users', (on) => `users?limit=100&offset=${middle(on, 7)}`, {
    name: 'GET users, the middle',
    // The skipped rows grow with the ledger.
    isListOfAll: true,
  }),
  get('users', (on) => `users?limit=10&query=user-${anyOf(on)}-0`, {
    name: 'GET users?query, one',
  }),
  get('users', (on) => `users?limit=10&query=mara${anyOf(on) % 1_000}`, {
    name: 'GET users?query, 1 of 1 000',
    isListOfAll: true,
  }),
  get('referrals', () => 'referrals?limit=100'),
  get('referrals', (on) => `referrals?limit=100&offset=${middle(on, 2)}`, {
    name: 'GET referrals, the middle',
  }),
  get('referrals', () => `referrals?limit=100&referringAccountId=${TOP_REFERRER}`, {
    name: 'GET referrals of the top referrer',
  }),
  get('referrals', (on) => `referrals?referredAccountId=${on.accounts.accountId(referredIn(on))}`, {
    name: 'GET referrals?referredAccountId',
  }),
  get('referrals', () => 'referrals?limit=20&referrerModerationStatus=PENDING', {
    name: 'GET referrals?referrerModerationStatus',
  }),
  get('referrals/{referralId}', (on) => `referrals/${on.accounts.referralId(referredIn(on))}`),
  get('reward/balance', (on) => `reward/balance?accountId=${accountOf(on)}`),
  get('reward/balance', () => `reward/balance?accountId=${MANY_REWARDS}`, {
    name: 'GET reward/balance, many rewards',
  }),
  get('reward', (on) => `reward?accountId=${accountOf(on)}`),
  get('reward/{id}', (on) => `reward/${on.accounts.rewardId(anyOf(on), 1)}`, { status: 201 }),
  get('code/{code}', (on) => `code/${codeOf(on)}`),
  get('discount/{code}', (on) => `discount/${codeOf(on)}`),
  get('subscription', () => 'subscription'),
  get('export/history/list', () => 'export/history/list'),
  get('export/{exportId}', ({ exportId }) => `export/${exportId}`),
  get('theme/variables/schema', () => 'theme/variables/schema'),
  get('theme/variables/instance', () => 'theme/variables/instance'),
  get('theme/{locale}/variables/instance', () => 'theme/de/variables/instance'),
  get('open/code/{code}', (on) => `open/code/${codeOf(on)}`),
  get('open/user', (on) => `open/user?referralCode=${codeOf(on)}`),
  get('open/account/{accountId}/user/{userId}', (on) => `open/${userPath(on)}`),
  get('open/account/{accountId}/user/{userId}/shareurls', (on) => `open/${userPath(on)}/shareurls`),
  get('open/referrals', (on) => {
    const number = anyOf(on, (of) => of % 10 === 2);
    const [account, user] = [on.accounts.accountId(number), on.accounts.userId(number)];
    return `open/referrals?referringAccountId=${account}&referringUserId=${user}`;
  }),
];

const isReferred =
  ({ accounts }: Filled) =>
  (number: number): boolean =>
    accounts.isReferred(number);
const referredIn = (on: Filled): number => anyOf(on, isReferred(on));

/** Of an account without a call before. */
const newUserPath = (on: Filled): string => userPathOf(on, unwrittenOf(on));

const post = (
  name: string,
  to: (on: Filled) => readonly [path: string, body: unknown],
  status = 200,
): ScaleCall => ({ name: `POST ${name}`, status, call: (on) => on.client.post(...to(on)) });

/** Whose second reward is cancelled: what was redeemed cannot be. */
const isCancelled = (number: number): boolean => number % 10 === 5;
const isSpent = (number: number): boolean => !isCancelled(number);

export const WRITES: readonly ScaleCall[] = [
  post('accountsync, new', (on) => [
    'accountsync',
    { id: `new-${on.next()}`, subscription: { status: 'TRIAL' } },
  ]),
  post('accountsync', (on) => [
    'accountsync',
    {
      id: on.accounts.accountId(unwrittenOf(on)),
      subscription: { status: 'FREE' },
    },
  ]),
  post('user, new', (on) => {
    const id = `new-${on.next()}`;
    return [
      'user',
      {
        id,
        accountId: on.accounts.accountId(unwrittenOf(on)),
        email: `${id}@example.com`,
        firstName: 'Ann',
      },
    ];
  }),
  post('user', (on) => {
    const number = unwrittenOf(on);
    const [accountId, id] = [on.accounts.accountId(number), on.accounts.userId(number)];
    return ['user', { id, accountId, lastName: `L${on.next()}` }];
  }),
  post(
    'rewards/account/{accountId}/user/{userId}',
    (on) => [`rewards/${newUserPath(on)}`, { type: 'CREDIT', unit: UNIT, assignedCredit: 100 }],
    201,
  ),
  post('credit/{id}/redeem', (on) => [
    `credit/${on.accounts.rewardId(unwrittenOf(on, isSpent), 0)}/redeem`,
    { amount: 1, unit: UNIT },
  ]),
  post('credit/bulkredeem', (on) => [
    'credit/bulkredeem',
    { accountId: on.accounts.accountId(unwrittenOf(on, isSpent)), amount: 2, unit: UNIT },
  ]),
  post('credit/bulkredeem, many rewards', () => [
    'credit/bulkredeem',
    { accountId: MANY_REWARDS, amount: 300, unit: UNIT },
  ]),
  post('reward/{id}/cancel', (on) => [
    `reward/${on.accounts.rewardId(unwrittenOf(on, isCancelled), 1)}/cancel`,
    {},
  ]),
  post('user, a custom field', (on) => {
    const number = unwrittenOf(on);
    const [accountId, id] = [on.accounts.accountId(number), on.accounts.userId(number)];
    return ['user', { id, accountId, customFields: { seen: on.next() } }];
  }),
  post('referrals/moderate', (on) => [
    'referrals/moderate',
    {
      actions: [
        {
          referralId: on.accounts.referralId(unwrittenOf(on, isReferred(on))),
          action: on.next() % 2 === 0 ? 'REFERRER_APPROVED' : 'REFERRER_DENIED',
        },
      ],
    },
  ]),
  post('open/account/{accountId}/user/{userId}/events', (on) => {
    const number = unwrittenOf(on);
    const [accountId, userId] = [on.accounts.accountId(number), on.accounts.userId(number)];
    const events = [{ key: 'purchase', fields: { total: on.next() } }];
    return [`open/account/${accountId}/user/${userId}/events`, { accountId, userId, events }];
  }),
];
