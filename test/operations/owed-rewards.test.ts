import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { Decoded } from '../../src/event-log/codec.js';
import { eventRewardId } from '../../src/command-handling/event-reward-id.js';
import { personal } from '../../src/domain/personal.js';
import { OwedRewards } from '../../src/operations/ledger/owed-rewards.js';
import { terms as termsOf } from '../domain/support/account-scenario.js';
import {
  anAccount,
  credit,
  erasureRequested,
  partyOf,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardGranted,
  rewardWithheld,
} from '../support/account-events.js';

const ANN = partyOf(anAccount('ann-account'), 'ann');
const BOB = partyOf(anAccount('bob-account'), 'bob');
const terms = termsOf(credit(700), { when: 'CONVERTED' });

const started = (over: Parameters<typeof referralStarted>[3] = {}) =>
  referralStarted('r', BOB, ANN, over);
const convertedBy = (over: Parameters<typeof referralConverted>[2]) =>
  referralConverted('r', ANN, over);
const moderated = (over: Parameters<typeof referralModerated>[2]) =>
  referralModerated('r', ANN, { referrerReward: null, ...over });

const earned = {
  at: 1,
  referralId: 'r',
  userEventId: 'e',
  referrer: ANN,
  programId: 'default',
  programVersion: 1,
};
const earnedByEvent: AccountEvent = {
  type: 'ReferrerRewardEarnedByEvent',
  ...earned,
  rule: 'per-order',
  terms,
};

const granted = (source: 'REFERRED' | 'FRIEND_SIGNUP' | 'EVENT', rewardId = 'reward') =>
  rewardGranted(rewardId, ANN, credit(700), {
    source,
    referralId: source === 'EVENT' ? null : 'r',
  });
const withheld = (rewardId: string, referralId: string | null, rule: string) =>
  rewardWithheld({ rewardId, referralId, rule, person: ANN.person });
const erased = erasureRequested([ANN.person]);

const refunded: AccountEvent = {
  type: 'EarningRefunded',
  ...earned,
  person: BOB.person,
  rule: 'conversion',
  refund: { key: 'refund', field: 'order' },
  value: personal(BOB.person, 'digest'),
  refundedBy: 'f',
};

const invoiceRefunded: AccountEvent = {
  type: 'ReferralRefunded',
  at: 1,
  referralId: 'r',
  referrer: ANN,
};

const eventReward = eventRewardId(ANN.account, 'e', 'default', 'per-order');

const facts = (...events: readonly AccountEvent[]): Decoded[] =>
  events.map(
    (event, index) =>
      ({
        event,
        envelope: { actor: { kind: 'policy' } },
        recorded: { id: `event ${index}`, recordedAt: 1 },
      }) as Decoded,
  );

/** What is missing, whichever account is read first. */
function missing(ofBob: readonly AccountEvent[], ofAnn: readonly AccountEvent[] = []) {
  const [bobFirst, annFirst] = [new OwedRewards(), new OwedRewards()];
  bobFirst.add('bob-account', facts(...ofBob));
  bobFirst.add('ann-account', facts(...ofAnn));
  annFirst.add('ann-account', facts(...ofAnn));
  annFirst.add('bob-account', facts(...ofBob));
  expect(annFirst.missing(2)).toEqual(bobFirst.missing(2));
  expect(bobFirst.missing(1)).toEqual([]);
  return bobFirst
    .missing(2)
    .map(
      ({ kind, account, what, amount, eventId }) =>
        `${kind} ${account} ${what} ${amount} ${eventId}`,
    );
}

const ofReferrer = (event: number) => [
  `conversion ann-account referrer reward of r: 700 CENTS 700 event ${event}`,
];
const ofReferred = (event: number) => [
  `conversion bob-account referred reward of r: 700 CENTS 700 event ${event}`,
];

it.each([
  ['the start', [started({ referrerReward: terms })], 0],
  ['the conversion', [started(), convertedBy({ referrerReward: terms })], 1],
  [
    'an approval',
    [
      started(),
      convertedBy({ referrerReward: terms, referrerStatus: 'PENDING' }),
      moderated({ referrerReward: terms }),
    ],
    2,
  ],
  [
    'an approval after a denial',
    [
      started({ referrerReward: terms }),
      moderated({ referrerStatus: 'DENIED', referrerReward: terms }),
      moderated({ referrerReward: terms }),
    ],
    2,
  ],
])(
  'the referrer’s reward earned by %s is owed until it is granted or withheld',
  (_, ofBob, event) => {
    expect(missing(ofBob)).toEqual(ofReferrer(event));
    expect(missing(ofBob, [granted('FRIEND_SIGNUP')])).toEqual([]);
    expect(missing(ofBob, [withheld('reward', 'r', 'referrerReward')])).toEqual([]);
    expect(missing(ofBob, [erased])).toEqual([]);
    // Of another referral, or of another rule.
    expect(
      missing(ofBob, [granted('EVENT'), withheld('reward', 'other', 'referrerReward')]),
    ).toEqual(ofReferrer(event));
  },
);

it('the referrer’s reward is not owed to a side that is denied or undecided', () => {
  expect(missing([started({ referrerReward: terms, referrerStatus: 'PENDING' })])).toEqual([]);
  expect(
    missing([
      started({ referrerReward: terms }),
      moderated({ referrerReward: terms, referrerStatus: 'DENIED' }),
    ]),
  ).toEqual([]);
});

it('the referred side’s reward is owed until it is granted or withheld in the same account', () => {
  const earned = started({ referredReward: terms });
  expect(missing([earned])).toEqual(ofReferred(0));
  expect(missing([earned, granted('REFERRED')])).toEqual([]);
  expect(missing([earned, withheld('reward', 'r', 'referredReward')])).toEqual([]);
});

it('the referred side’s reward is not owed by an approval after the refund of the conversion that earned it', () => {
  const converted = convertedBy({ referredReward: terms, referredStatus: 'PENDING' });
  expect(missing([started(), converted, moderated({})])).toEqual(ofReferred(2));
  expect(missing([started(), converted, refunded, moderated({})])).toEqual([]);
});

it('the referred side’s reward is not owed by an approval after the refund of the first invoice', () => {
  const waiting = started({ referredReward: terms, referredStatus: 'PENDING' });
  expect(missing([waiting, moderated({})])).toEqual(ofReferred(1));
  expect(missing([waiting, invoiceRefunded, moderated({})])).toEqual([]);
});

it('the referred side’s reward that waited for an approval is owed from then on', () => {
  const earned = [started(), convertedBy({ referredReward: terms, referredStatus: 'PENDING' })];
  expect(missing(earned)).toEqual([]);
  expect(missing([...earned, moderated({})])).toEqual(ofReferred(2));
  expect(missing([...earned, moderated({}), granted('REFERRED')])).toEqual([]);
});

const owed = ['event-reward ann-account per-order reward of event e: 700 CENTS 700 event 1'];
it('the referrer’s reward of an event is owed until it is granted or withheld, under its own id', () => {
  expect(missing([started(), earnedByEvent])).toEqual(owed);
  expect(missing([started(), earnedByEvent], [granted('EVENT', eventReward)])).toEqual([]);
  expect(missing([started(), earnedByEvent], [withheld(eventReward, null, 'per-order')])).toEqual(
    [],
  );
  expect(missing([started(), earnedByEvent], [erased])).toEqual([]);
  expect(
    missing([started(), earnedByEvent], [granted('EVENT', 'another'), granted('FRIEND_SIGNUP')]),
  ).toEqual(owed);
});
