import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import type { ApplyCode, ReferralContext } from '../../src/domain/account/referral/referral.js';
import {
  accountAttributed,
  accountOpened,
  partyOf,
  subscriptionChanged,
  userIdentified,
  erasureRequested,
} from '../support/account-events.js';
import {
  aCode,
  ACME,
  ANN,
  announced,
  annsCode,
  BLOCKED,
  BOB,
  given,
  noCode,
  NOW,
  startedNow,
  startReward,
} from './support/account-scenario.js';
import { PAID } from './support/commands.js';

const apply = (context: ReferralContext, userId = 'bob'): ApplyCode => ({
  type: 'ApplyCode',
  userId,
  context,
});

const CODE = annsCode();
const here = [
  accountOpened(ACME),
  subscriptionChanged({ status: 'TRIAL' }),
  userIdentified(ACME, 'bob'),
];
const ownCode = aCode('BOB', BOB);
const paid = subscriptionChanged(PAID);

it('applying a code attributes the account, starts the referral with this user and grants what the start earns', () => {
  given(here)
    .when(apply(CODE))
    .then(accountAttributed('ANNLEE', ANN, NOW), startedNow(), startReward());
});

it('applying a code refers the user it was applied to, not the first one of the account', () => {
  const { decision } = given(here, userIdentified(ACME, 'cat')).when(apply(CODE, 'cat'));
  expect('events' in decision && decision.events[1]).toMatchObject({
    type: 'ReferralStarted',
    referred: partyOf(ACME, 'cat'),
  });
});

it('applying a code does not find a code without owner, or whose owner is deleted or blocked', () => {
  given(here).when(apply(noCode())).refused('REFERRAL_CODE_NOT_FOUND');
  given(here)
    .when(apply(annsCode({ referrer: null })))
    .refused('REFERRAL_CODE_NOT_FOUND');
  given(here)
    .when(apply(annsCode({ referrer: BLOCKED })))
    .refused('REFERRAL_CODE_NOT_FOUND');
});

it('applying a code reports the code first when both are missing', () => {
  given().when(apply(noCode(), 'missing')).refused('REFERRAL_CODE_NOT_FOUND');
});

// Every account below also fails all checks that come later.
it('applying a code is refused for the first of several reasons, in this order', () => {
  const notReferable = [accountOpened(ACME), userIdentified(ACME, 'bob', { referable: false })];
  const paidToo = [...notReferable, paid];
  const referredToo = [
    ...paidToo,
    accountAttributed('EVE', partyOf({ ...ACME, accountRef: 'e'.repeat(32) }, 'eve')),
  ];
  given(referredToo)
    .when(apply(annsCode({ codeOwner: ownCode })))
    .refused('SELF_REFERRAL');
  given(referredToo).when(apply(CODE)).refused('ALREADY_REFERRED');
  given(paidToo).when(apply(CODE)).refused('NOT_ATTRIBUTABLE');
  given(notReferable).when(apply(CODE)).refused('NOT_REFERABLE');
});

it('applying a code treats a code of another user of the same account as an own one', () => {
  const colleague = aCode('CAT', partyOf(ACME, 'cat'));
  given(here, userIdentified(ACME, 'cat'))
    .when(apply(annsCode({ codeOwner: colleague })))
    .refused('SELF_REFERRAL');
});

const bobReferredAnn = annsCode({ codeOwner: aCode('ANNLEE', ANN, { referredBy: BOB }) });
const forgetting = (account: string | null) =>
  erasureRequested([BOB.person], { at: 2_000, account });
const announcing = (over: Partial<AccountEventOf<'ReferralAnnounced'>> = {}): AccountEvent => ({
  type: 'ReferralAnnounced',
  at: NOW - 119_999,
  referralId: 'of ann',
  account: ANN.account,
  person: BOB.person,
  ...over,
});

it('a code of an account that this account has referred is refused, also when the person who referred it was forgotten', () => {
  given(here).when(apply(bobReferredAnn)).refused('SELF_REFERRAL');
  given(here, userIdentified(ACME, 'cat'), forgetting(null))
    .when(apply(bobReferredAnn, 'cat'))
    .refused('SELF_REFERRAL');
});

it('a code of an account that this account has referred counts for an account that was deleted and made again', () => {
  const again = { ...userIdentified(ACME, 'bob'), person: 'another' } as AccountEvent;
  const { decision } = given(here, forgetting(ACME.accountRef), accountOpened(ACME), again).when(
    apply(bobReferredAnn),
  );
  expect(decision).toHaveProperty('events');
});

it('a code of an account that this account has referred is refused while that referral is only announced here, for two minutes', () => {
  given(here, announcing())
    .when(apply(annsCode({ provided: NOTHING_PROVIDED })))
    .refused('SELF_REFERRAL');
  const settled = [
    announcing({ at: NOW - 120_000 }),
    announcing({ account: 'e'.repeat(32) }),
  ] as const;
  for (const event of settled)
    expect(given(here, event).when(apply(CODE)).decision).toHaveProperty('events');
  const deletedSince = aCode('ANNLEE', ANN, { formerReferrals: ['of ann'] });
  const context = annsCode({ codeOwner: deletedSince, provided: NOTHING_PROVIDED });
  expect(given(here, announcing()).when(apply(context)).decision).toHaveProperty('needs');
});

it('the first by its reference of two accounts that refer each other accepts the code of the other', () => {
  const { announced: made } = announced();
  const asOwner = (accountRef: string) => aCode('EVE', partyOf({ ...ACME, accountRef }, 'eve'));
  const bothAnnounced = (accountRef: string) =>
    given(here, announcing({ account: accountRef })).when(
      apply(
        annsCode({
          codeOwner: asOwner(accountRef),
          provided: { ...announced(), announced: made },
        }),
      ),
    );
  bothAnnounced('f'.repeat(32)).refused('SELF_REFERRAL');
  expect(bothAnnounced('0'.repeat(32)).decision).toHaveProperty('events');
});

it('a code of an account that this account has referred is refused when the announcement of this referral finds that account referred', () => {
  const { announced: made } = announced();
  const own = made['referral'];
  if (!own) throw new Error('it was announced');
  const provided = { ...announced(), announced: { referral: { ...own, referredBy: BOB } } };
  given(here)
    .when(apply(annsCode({ provided })))
    .refused('SELF_REFERRAL');
});

it('applying a code is not possible for an account that has ever paid', () => {
  given(here, paid, subscriptionChanged({ status: 'CANCELLED' }))
    .when(apply(CODE))
    .refused('NOT_ATTRIBUTABLE');
});
