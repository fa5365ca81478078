import type { AccountEvent, AccountEventOf } from '../../src/domain/account/account.events.js';
import { NOTHING_PROVIDED, type NeededReservation, codesKey } from '../../src/domain/need.js';
import type { ApplyCode, ReferralContext } from '../../src/domain/account/referral/referral.js';
import {
  accountAttributed,
  accountOpened,
  partyOf,
  subscriptionChanged,
  userIdentified,
  erasureRequested,
  anAccount,
  paymentProviderIdSet,
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
  ANNS_CODE,
} from './support/account-scenario.js';
import { PAID } from './support/commands.js';
import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import { asked, ownedByAnn, ownedByNobody, reservedAs } from './support/request-scenario.js';

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

const request: AccountCommand = {
  type: 'ApplyDiscount',
  code: 'annlee',
  paymentProviderId: 'cus_1',
};
const SUBJECT = ACME.accountRef;
const reservation: NeededReservation = {
  kind: 'reservation',
  what: { kind: 'payment-provider-id', id: 'cus_1', subject: SUBJECT },
  lapses: 0,
};
const REFERRAL = 'within command/referral';
const announcement = { kind: 'announcement', referralId: REFERRAL, referrer: ANN } as const;
const found = ownedByAnn('annlee');
const reserved = reservedAs(reservation, { code: null });
const wasAnnounced = { announced: { [REFERRAL]: announced().announced['referral'] ?? never() } };

const opened = accountOpened(ACME);
const present = [opened, subscriptionChanged({ status: 'TRIAL' }), userIdentified(ACME, 'bob')];
const providerIdSet = (id: string, at = NOW) => paymentProviderIdSet(ACME, id, at);
const started = startedNow({ referralId: REFERRAL });
const tenPercent = {
  ...startReward(),
  rewardId: 'within command/started',
  referralId: REFERRAL,
};

it('a discount for an account that is not referred needs the owner of the code first, then reservation and announcement', () => {
  asked(present, request).needs({ kind: 'code-owner', codes: ['annlee'] });
  asked(present, request).with(found).needs(reservation, announcement);
});

it('a discount for an account that is not referred records the customer and refers its first user in one decision', () => {
  asked(present, request)
    .with(found, reserved, wasAnnounced)
    .then(providerIdSet('cus_1'), accountAttributed('ANNLEE', ANN, NOW), started, tenPercent);
});

it('a discount for an account that is not referred attributes an account without users, whose referral starts with the first one', () => {
  asked([opened], request)
    .with(found, reserved)
    .then(providerIdSet('cus_1'), accountAttributed('ANNLEE', ANN, NOW));
});

it('a discount for an account that is not referred skips a user who is not referable', () => {
  const cat = partyOf(ACME, 'cat');
  const decided = asked(
    [opened, userIdentified(ACME, 'bob', { referable: false }), userIdentified(ACME, 'cat')],
    request,
  ).with(found, reserved, wasAnnounced);
  expect('events' in decided.decision && decided.decision.events[2]).toMatchObject({
    type: 'ReferralStarted',
    referred: cat,
  });
});

const eve = partyOf(anAccount('eves'), 'eve');
const referred = [...present, accountAttributed('EVE', eve)];

it('a discount for an account that is referred keeps the referral, looks no code up, and records the customer', () => {
  asked(referred, { ...request, code: 'nobodys' }).needs(reservation);
  asked(referred, { ...request, code: 'nobodys' })
    .with(reserved)
    .then(providerIdSet('cus_1'));
});

it('a discount for an account that is referred changes nothing the second time', () => {
  asked([...referred, providerIdSet('cus_1', 1)], request).then();
});

it('a discount for an account that is referred is refused with another customer', () => {
  asked([...referred, providerIdSet('cus_2', 1)], request).refused('PAYMENT_PROVIDER_ID_SET');
});

it('a discount is refused for a code without owner, or whose owner is blocked; before a missing account', () => {
  const ofBlocked = {
    codeOwners: { [codesKey(['annlee'])]: { owner: ANNS_CODE, referrer: BLOCKED } },
  };
  for (const events of [present, []]) {
    asked(events, request).with(ownedByNobody('annlee')).refused('REFERRAL_CODE_NOT_FOUND');
    asked(events, request).with(ofBlocked).refused('REFERRAL_CODE_NOT_FOUND');
  }
  asked([], request).with(found).refused('ACCOUNT_NOT_FOUND');
});

// Every account below also fails all checks that come later.
it('a discount is refused for the first of several reasons, in this order', () => {
  const colleague = {
    codeOwners: {
      [codesKey(['annlee'])]: {
        owner: { ...ANNS_CODE, party: BOB },
        referrer: { ...BLOCKED, blocked: false },
      },
    },
  };
  const alone = [opened, userIdentified(ACME, 'bob', { referable: false })];
  const paidToo = [...alone, paid];
  const taken = reservedAs(reservation, { refused: 'RESERVED_BY_ANOTHER' });
  asked([...paidToo, providerIdSet('cus_2', 1)], request)
    .with(colleague, taken)
    .refused('PAYMENT_PROVIDER_ID_SET');
  asked(paidToo, request).with(colleague, taken).refused('SELF_REFERRAL');
  asked(paidToo, request).with(found, taken).refused('NOT_ATTRIBUTABLE');
  asked(alone, request).with(found, taken).refused('NOT_REFERABLE');
  asked(present, request).with(found, taken).refused('PAYMENT_PROVIDER_ID_USED');
});

function never(): never {
  throw new Error('nothing was announced');
}
