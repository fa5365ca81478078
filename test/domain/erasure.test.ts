import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import { isSuppressed, type ForgetUser } from '../../src/domain/account/erasure/erasure.js';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import { isLimitReached } from '../../src/domain/account/rewards/rule-counts.js';
import { receiveUserEvents } from '../../src/domain/account/users/user-events.js';
import { personal } from '../../src/domain/personal.js';
import { REFERRER_RULE } from '../../src/domain/program.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  personOf,
  referralCodeAssigned,
  referralStarted,
  rewardGranted,
  subscriptionChanged,
  userIdentified,
  erasureCompleted,
  erasureRequested,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  annStands,
  BOB,
  fold,
  given,
  NOW,
  opened,
  HERE,
} from './support/account-scenario.js';
import { PAID, redeemAccountCredit, redeemCredit, syncAccount } from './support/commands.js';

const CAT = personOf(ACME, 'cat');
const bobAndCat = [accountOpened(ACME), userIdentified(ACME, 'bob'), userIdentified(ACME, 'cat')];

const forgetBob = ({
  suppressed = null,
  preserveEmptyAccount = true,
  customer = null,
}: Partial<ForgetUser> = {}): ForgetUser => ({
  type: 'ForgetUser',
  userId: 'bob',
  erasureId: 'erasure',
  suppressed,
  preserveEmptyAccount,
  customer,
  now: NOW,
});
const forgetAccount = (
  suppressed: Readonly<Record<string, string>> = {},
  customer: string | null = null,
) => ({ type: 'ForgetAccount', erasureId: 'erasure', suppressed, customer, now: NOW }) as const;
const requested = (over: Partial<AccountEventOf<'ErasureRequested'>> = {}) =>
  erasureRequested([BOB.person], { at: NOW, ...over });
const completed = (over: Partial<AccountEventOf<'ErasureCompleted'>> = {}) =>
  erasureCompleted([BOB.person], { at: NOW, ...over });
const account = ACME.accountRef;

test('forgetting a user is recorded before any key is destroyed', () =>
  given(bobAndCat).when(forgetBob()).then(requested()));
test('forgetting a user is refused for an unknown user', () =>
  given(accountOpened(ACME)).when(forgetBob()).refused('USER_NOT_FOUND'));
test('forgetting a user is refused the second time', () =>
  given(bobAndCat, requested()).when(forgetBob()).refused('USER_NOT_FOUND'));
test('forgetting a user who is not to be tracked keeps a hash', () =>
  given(bobAndCat)
    .when(forgetBob({ suppressed: 'hash' }))
    .then(requested({ suppressed: ['hash'] })));
test('forgetting the last user also forgets the account, on request only', () => {
  given(HERE)
    .when(forgetBob({ preserveEmptyAccount: false }))
    .then(requested({ account }));
  given(HERE).when(forgetBob()).then(requested());
  given(bobAndCat)
    .when(forgetBob({ preserveEmptyAccount: false }))
    .then(requested());
});
test("forgetting a user takes the customer's ids along with the account only", () => {
  given(HERE)
    .when(forgetBob({ preserveEmptyAccount: false, customer: 'customer' }))
    .then(requested({ account, customer: 'customer' }));
  given(HERE)
    .when(forgetBob({ customer: 'customer' }))
    .then(requested());
});

test("forgetting an account forgets the customer's ids, and the completion says so", () => {
  const all = requested({ persons: [BOB.person, CAT], account, customer: 'customer' });
  given(bobAndCat).when(forgetAccount({}, 'customer')).then(all);
  given(bobAndCat, all)
    .when({ type: 'CompleteErasure', erasureId: 'erasure', now: NOW })
    .then(completed({ persons: [BOB.person, CAT], account, customer: 'customer' }));
});
test('forgetting an account forgets all its users', () =>
  given(bobAndCat)
    .when(forgetAccount({ [BOB.person]: 'b', [CAT]: 'c' }))
    .then(requested({ persons: [BOB.person, CAT], account, suppressed: ['b', 'c'] })));
test('forgetting an account is refused when it is unknown', () =>
  given().when(forgetAccount()).refused('ACCOUNT_NOT_FOUND'));
test('forgetting an account leaves no account, and the next one under its id starts empty', () => {
  const history = [
    ...bobAndCat,
    subscriptionChanged(PAID),
    accountAttributed('ANNLEE', ANN),
    requested({ persons: [BOB.person, CAT], account }),
  ];
  expect(fold(history)).toMatchObject({ status: 'absent' });
  const again = opened(fold([...history, accountOpened(ACME, { account: 'another key' })]));
  expect(again).toMatchObject({
    account: 'another key',
    everPaid: false,
    attribution: null,
    referral: null,
    subscription: null,
  });
  expect([again.users.size, again.rewards.size]).toStrictEqual([0, 0]);
});

const complete = { type: 'CompleteErasure', erasureId: 'erasure', now: NOW } as const;
test('the tombstone names the destroyed keys', () =>
  given(bobAndCat, requested()).when(complete).then(completed()));
test('the tombstone is appended once', () =>
  given(bobAndCat, requested(), completed()).when(complete).then());
test('the tombstone is not written without a request', () =>
  given(bobAndCat).when(complete).then());

const repeat = (account: string | null, suppressed: readonly string[] = []) => ({
  type: 'RepeatErasure' as const,
  erased: { erasureId: 'erasure', persons: [BOB.person], account },
  suppressed,
  now: NOW,
});
test('an erasure that is repeated from a newer copy of the log is recorded where it is missing', () => {
  given(bobAndCat)
    .when(repeat(account, ['hash']))
    .then(requested({ account, suppressed: ['hash'] }));
});
test('an erasure that is repeated from a newer copy of the log records nothing when its people, its account and its hashes are known', () => {
  given(bobAndCat, requested({ account, suppressed: ['hash'] }))
    .when(repeat(account, ['hash']))
    .then();
});
test('an erasure that is repeated from a newer copy of the log records a hash that is missing', () => {
  given(bobAndCat, requested())
    .when(repeat(null, ['hash']))
    .then(requested({ suppressed: ['hash'] }));
});
test('an erasure that is repeated from a newer copy of the log leaves a newer account under the same id, which is another one', () => {
  const newer = accountOpened(ACME, { account: 'another key' });
  given(bobAndCat, requested({ account }), newer)
    .when(repeat(account, ['hash']))
    .then(requested({ suppressed: ['hash'] }));
  given(newer).when(repeat(account)).then(requested());
});

const granted = rewardGranted('reward', BOB, credit(500));
const history = [...bobAndCat, referralCodeAssigned(ACME, 'bob', 'BOB'), granted];

test('an erasure leaves the reward in the ledger, neither seen nor spent', () => {
  const state = opened(fold([...history, requested()]));
  expect(state.rewards.has('reward')).toBe(true);
  expect(availableCredit(opened(fold(history)), 'CENTS', NOW)).toBe(500);
  expect(availableCredit(state, 'CENTS', NOW)).toBe(0);
  const then = given(history, requested());
  then.when({ type: 'CancelReward', rewardId: 'reward', now: NOW }).refused('REWARD_NOT_FOUND');
  then.when(redeemCredit('reward')).refused('REWARD_NOT_FOUND');
  then
    .when(redeemAccountCredit())
    .refused('REDEMPTION_NOT_POSSIBLE', 'The amount 1 exceeds the available credit 0 CENTS');
});

test("an erasure leaves the counts of a rule's grants, for the account and for its successor", () => {
  const byRule = rewardGranted('by rule', BOB, credit(5), {
    source: 'FRIEND_SIGNUP',
    programId: 'default',
    programVersion: 1,
  });
  const isReached = (...events: readonly AccountEvent[]) =>
    isLimitReached(
      opened(fold([...bobAndCat, ...events])).grantedByRule,
      { programId: 'default', rule: REFERRER_RULE },
      { total: 1, perDay: null },
      NOW,
    );
  expect(isReached()).toBe(false);
  expect(isReached(byRule, requested())).toBe(true);
  expect(isReached(byRule, requested({ account }), accountOpened(ACME))).toBe(true);
});

test("an erasure leaves none of the person's events: the next person with the id starts from none", () => {
  const purchase = { id: 'order', key: 'purchase', fields: { total: 3 }, dateTriggered: NOW };
  const did: AccountEvent = {
    type: 'UserEventReceived',
    at: NOW,
    userEventId: 'received',
    person: BOB.person,
    batch: 'batch',
    content: personal(BOB.person, purchase),
  };
  const again = { ...userIdentified(ACME, 'bob'), person: 'another' } as AccountEvent;
  const state = opened(fold([...bobAndCat, did, requested(), again]));
  expect(state.eventsSeen.size).toBe(0);
  const asked = {
    type: 'ReceiveUserEvents',
    userId: 'bob',
    batch: 'batch',
    programs: [],
    context: annStands(),
    events: [],
    valueRef: () => 'value',
  } as const;
  const before = opened(fold([...bobAndCat, did]));
  expect(receiveUserEvents(before, { ...asked, rewardIdOf: () => 'reward' })).toStrictEqual({
    refused: 'EVENTS_ALREADY_RECEIVED',
  });
  expect(receiveUserEvents(state, { ...asked, rewardIdOf: () => 'reward' })).toStrictEqual({
    events: [],
  });
});

test('an erasure leaves a hash that is recognised, in the account and in its successor', () => {
  const state = fold([
    ...history,
    requested({ account, suppressed: ['hash'] }),
    accountOpened(ACME),
  ]);
  expect([isSuppressed(state, 'hash'), isSuppressed(state, 'another')]).toStrictEqual([
    true,
    false,
  ]);
});

test('an erasure leaves the referral, which converts for the referrer and gives the referred side nothing', () => {
  const started = [
    ...bobAndCat,
    accountAttributed('ANNLEE', ANN),
    referralStarted('referral', BOB, ANN),
  ];
  const after = given(started, requested()).when(syncAccount(PAID));
  expect(after.types()).toStrictEqual(['SubscriptionChanged', 'ReferralConverted']);
});
