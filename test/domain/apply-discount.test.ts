import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import type { NeededReservation } from '../../src/domain/need.js';
import { codesKey } from '../../src/domain/need.js';
import {
  accountAttributed,
  accountOpened,
  anAccount,
  partyOf,
  subscriptionChanged,
  userIdentified,
  paymentProviderIdSet,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  announced,
  ANNS_CODE,
  BLOCKED,
  BOB,
  NOW,
  startedNow,
  startReward,
} from './support/account-scenario.js';
import { PAID } from './support/commands.js';
import { asked, ownedByAnn, ownedByNobody, reservedAs } from './support/request-scenario.js';

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
const here = [opened, subscriptionChanged({ status: 'TRIAL' }), userIdentified(ACME, 'bob')];
const providerIdSet = (id: string, at = NOW) => paymentProviderIdSet(ACME, id, at);
const paid = subscriptionChanged(PAID);
const started = startedNow({ referralId: REFERRAL });
const tenPercent = {
  ...startReward(),
  rewardId: 'within command/started',
  referralId: REFERRAL,
};

it('a discount for an account that is not referred needs the owner of the code first, then reservation and announcement', () => {
  asked(here, request).needs({ kind: 'code-owner', codes: ['annlee'] });
  asked(here, request).with(found).needs(reservation, announcement);
});

it('a discount for an account that is not referred records the customer and refers its first user in one decision', () => {
  asked(here, request)
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
const referred = [...here, accountAttributed('EVE', eve)];

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
  for (const events of [here, []]) {
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
  asked(here, request).with(found, taken).refused('PAYMENT_PROVIDER_ID_USED');
});

function never(): never {
  throw new Error('nothing was announced');
}
