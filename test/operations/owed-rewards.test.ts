import type { AccountEvent, Party } from '../../src/domain/account/account.events.js';
import type { Decoded } from '../../src/event-log/codec.js';
import { eventRewardId } from '../../src/command-handling/event-reward-id.js';
import { personal } from '../../src/domain/personal.js';
import type { RewardTerms } from '../../src/domain/program.js';
import { OwedRewards } from '../../src/operations/ledger/owed-rewards.js';

const terms: RewardTerms = {
  value: { type: 'CREDIT', unit: 'CENTS', assignedCredit: 700, currency: null },
  name: null,
  description: null,
  cancellable: true,
  validDays: null,
  delayDays: 0,
  limit: null,
  redeemsAutomatically: false,
  when: 'CONVERTED',
};
const party = (name: string): Party => ({
  account: `${name}-ref`,
  person: name,
  ids: personal(name, { accountId: `${name}-account`, userId: name }),
});
const frame = { at: 1, referralId: 'r', programId: 'p', programVersion: 1, referrer: party('ann') };
type Sides = Partial<
  Record<'referredStatus' | 'referrerStatus', 'APPROVED' | 'PENDING' | 'DENIED'>
> &
  Partial<Record<'referredReward' | 'referrerReward', RewardTerms | null>>;
const nothing = {
  referredStatus: 'APPROVED',
  referrerStatus: 'APPROVED',
  referredReward: null,
  referrerReward: null,
} as const;
const started = (sides: Sides = {}): AccountEvent => ({
  type: 'ReferralStarted',
  ...frame,
  ...nothing,
  ...sides,
  code: personal('ann', 'ANN'),
  shareLinkUsed: null,
  referred: party('bob'),
  fraudSignals: {},
  tooManyWith: [],
});
const convertedBy = (sides: Sides): AccountEvent => ({
  type: 'ReferralConverted',
  ...frame,
  ...nothing,
  ...sides,
});
const moderated = (sides: Sides): AccountEvent => ({
  type: 'ReferralModerated',
  moderationId: 'm',
  ...frame,
  ...nothing,
  ...sides,
});
const earnedByEvent: AccountEvent = {
  type: 'ReferrerRewardEarnedByEvent',
  at: 1,
  referralId: 'r',
  userEventId: 'e',
  referrer: party('ann'),
  programId: 'p',
  programVersion: 1,
  rule: 'per-order',
  terms,
};
const granted = (
  source: 'REFERRED' | 'FRIEND_SIGNUP' | 'EVENT',
  rewardId = 'reward',
): AccountEvent => ({
  type: 'RewardGranted',
  at: 1,
  rewardId,
  person: 'ann',
  owner: personal('ann', { accountId: 'ann-account', userId: 'ann' }),
  source,
  value: { type: 'CREDIT' as const, unit: 'CENTS', assignedCredit: 700, currency: null },

  texts: { subject: 'ann', value: null },
  cancellable: true,
  dateScheduledFor: null,
  dateExpires: null,
  programId: 'p',
  programVersion: 1,
  referralId: source === 'EVENT' ? null : 'r',
  rule: 'a rule',
  redeemsAutomatically: false,
});
const withheld = (rewardId: string, referralId: string | null, rule: string): AccountEvent => ({
  type: 'RewardWithheld',
  at: 1,
  rewardId,
  referralId,
  person: 'ann',
  programId: 'p',
  programVersion: 1,
  rule,
  reason: 'LIMIT_REACHED',
});
const erased: AccountEvent = {
  type: 'ErasureRequested',
  at: 1,
  erasureId: 'x',
  persons: ['ann'],
  account: null,
  suppressed: [],
};
const refunded: AccountEvent = {
  type: 'EarningRefunded',
  ...frame,
  userEventId: 'e',
  person: 'bob',
  rule: 'conversion',
  refund: { key: 'refund', field: 'order' },
  value: personal('bob', 'digest'),
  refundedBy: 'f',
};
const eventReward = eventRewardId('ann-ref', 'e', 'p', 'per-order');

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

describe('the referrer’s reward', () => {
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
  ])('earned by %s is owed until it is granted or withheld', (_, ofBob, event) => {
    expect(missing(ofBob)).toEqual(ofReferrer(event));
    expect(missing(ofBob, [granted('FRIEND_SIGNUP')])).toEqual([]);
    expect(missing(ofBob, [withheld('reward', 'r', 'referrerReward')])).toEqual([]);
    expect(missing(ofBob, [erased])).toEqual([]);
    // Of another referral, or of another rule.
    expect(
      missing(ofBob, [granted('EVENT'), withheld('reward', 'other', 'referrerReward')]),
    ).toEqual(ofReferrer(event));
  });

  it('is not owed to a side that is denied or undecided', () => {
    expect(missing([started({ referrerReward: terms, referrerStatus: 'PENDING' })])).toEqual([]);
    expect(
      missing([
        started({ referrerReward: terms }),
        moderated({ referrerReward: terms, referrerStatus: 'DENIED' }),
      ]),
    ).toEqual([]);
  });
});

describe('the referred side’s reward', () => {
  it('is owed until it is granted or withheld in the same account', () => {
    const earned = started({ referredReward: terms });
    expect(missing([earned])).toEqual(ofReferred(0));
    expect(missing([earned, granted('REFERRED')])).toEqual([]);
    expect(missing([earned, withheld('reward', 'r', 'referredReward')])).toEqual([]);
  });

  it('is not owed by an approval after the refund of the conversion that earned it', () => {
    const converted = convertedBy({ referredReward: terms, referredStatus: 'PENDING' });
    expect(missing([started(), converted, moderated({})])).toEqual(ofReferred(2));
    expect(missing([started(), converted, refunded, moderated({})])).toEqual([]);
  });

  it('that waited for an approval is owed from then on', () => {
    const earned = [started(), convertedBy({ referredReward: terms, referredStatus: 'PENDING' })];
    expect(missing(earned)).toEqual([]);
    expect(missing([...earned, moderated({})])).toEqual(ofReferred(2));
    expect(missing([...earned, moderated({}), granted('REFERRED')])).toEqual([]);
  });
});

describe('the referrer’s reward of an event', () => {
  const owed = ['event-reward ann-account per-order reward of event e: 700 CENTS 700 event 1'];
  it('is owed until it is granted or withheld, under its own id', () => {
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
});
