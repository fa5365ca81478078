import type {
  AccountEvent,
  AccountEventOf,
  Party,
} from '../../src/domain/account/account.events.js';
import type {
  PrepareModeration,
  SideChanges,
  SideOfAccount,
} from '../../src/domain/account/moderation/moderation-of-account.js';
import {
  aboutReward,
  accountAttributed,
  accountOpened,
  credit,
  creditRedeemed,
  discount,
  referralConverted,
  referralModerated,
  referralStarted,
  rewardCancelled,
  rewardGranted,
  userIdentified,
  erasureRequested,
  moderationPrepared,
  referrerSideModerated,
} from '../support/account-events.js';
import {
  ACME,
  ANN,
  ANNS,
  BOB,
  given,
  NOW,
  OF_REFERRAL,
  opened,
  TEN_DOLLARS,
  TEN_PERCENT,
  terms,
  HERE,
} from './support/account-scenario.js';
import { applyModeration } from './support/commands.js';

const prepare = (side: SideOfAccount, ...changes: readonly SideChanges[]): PrepareModeration => ({
  type: 'PrepareModeration',
  moderationId: 'm',
  side,
  changes,
  now: NOW,
});
const apply = (side: SideOfAccount, ...changes: readonly SideChanges[]) =>
  applyModeration(side, changes, { rewardIds: { referral: 'reward-of-approval' } });
const release = { type: 'ReleaseModeration', moderationId: 'm', now: NOW } as const;

const change = (over: Partial<SideChanges>): SideChanges => ({
  referralId: 'referral',
  referred: undefined,
  referrer: undefined,
  ...over,
});
const DENY = change({ referred: 'DENIED' });
const APPROVE = change({ referred: 'APPROVED' });
const DENY_REFERRER = change({ referrer: 'DENIED' });
const APPROVE_REFERRER = change({ referrer: 'APPROVED' });
const held = (moderationId = 'm', ...referralIds: readonly string[]) =>
  moderationPrepared(moderationId, NOW, ...(referralIds.length > 0 ? referralIds : ['referral']));
const moderated = (over: Partial<AccountEventOf<'ReferralModerated'>>) =>
  referralModerated('referral', ANN, { at: NOW, moderationId: 'm', ...over });

const started = (over: Partial<AccountEventOf<'ReferralStarted'>> = {}) =>
  referralStarted('referral', BOB, ANN, { referredReward: TEN_PERCENT, ...over });
const ofReferral = (
  owner: Party,
  value = credit(500),
  over: Partial<AccountEventOf<'RewardGranted'>> = {},
) => rewardGranted('reward', owner, value, { ...OF_REFERRAL, ...over });

const referred = [...HERE, accountAttributed('ANNLEE', ANN), started()];
const referrer = [accountOpened(ANNS), userIdentified(ANNS, 'ann')];

const refunded: AccountEvent = {
  type: 'ReferralRefunded',
  at: NOW,
  referralId: 'referral',
  referrer: ANN,
};

it('approving a side of a referral that was refunded grants neither side its reward', () => {
  given(referred.slice(0, -1), started({ referrerReward: TEN_DOLLARS }), refunded, held())
    .when(apply('referred', change({ referred: 'APPROVED', referrer: 'APPROVED' })))
    .then(moderated({ referrerReward: null }));
});

it.each([
  ['referred', referred, BOB],
  ['referrer', referrer, ANN],
] as const)(
  'approving a side of a referral that was refunded leaves cancelled what a moderation cancelled: %s',
  (side, account, owner) => {
    const granted = ofReferral(owner);
    const cancelled = rewardCancelled(granted, 500, NOW, 'MODERATION');
    const history = [...account, granted, cancelled, ...(side === 'referred' ? [refunded] : [])];
    const sideIs = { type: 'ReferrerSideModerated', moderationId: 'm', at: NOW } as const;
    given(history, held())
      .when({ ...apply(side, change({ [side]: 'APPROVED' })), refunded: ['referral'] })
      .then(
        side === 'referred'
          ? moderated({})
          : { ...sideIs, referralId: 'referral', status: 'APPROVED' },
      );
  },
);

it('preparing the referred account holds the referral, once', () => {
  given(referred, ofReferral(BOB)).when(prepare('referred', DENY)).then(held());
  given(referred, held()).when(prepare('referred', DENY)).then();
});

it('preparing the referred account does not find an unknown referral', () => {
  const reason = 'elsewhere: there is no such referral';
  given()
    .when(prepare('referred', change({ referralId: 'elsewhere' })))
    .refused('MODERATION_NOT_POSSIBLE', reason);
  given(referred)
    .when(prepare('referred', change({ referralId: 'elsewhere' })))
    .refused('MODERATION_NOT_POSSIBLE', reason);
});

it('preparing the referred account is refused for a reward that is not cancellable', () => {
  given(referred, ofReferral(BOB, discount(10), { cancellable: false }))
    .when(prepare('referred', DENY))
    .refused('MODERATION_NOT_POSSIBLE', "referral: the referred side's reward is not cancellable");
});

it('preparing the referred account refuses to deny a partly redeemed reward, and approves it', () => {
  const reward = ofReferral(BOB);
  const events = [...referred, reward, creditRedeemed(reward, 'r', 1, 3_000)];
  given(events)
    .when(prepare('referred', DENY))
    .refused('MODERATION_NOT_POSSIBLE', "referral: the referred side's reward has been redeemed");
  given(events).when(prepare('referred', APPROVE)).then(held());
});

it('preparing the referred account is refused when a side was decided since the operator read it', () => {
  const seen = { referred: 'PENDING', referrer: 'PENDING' } as const;
  const decided = { referredStatus: 'DENIED', referrerStatus: 'PENDING' } as const;
  given(referred.slice(0, -1), started({ ...decided }))
    .when(prepare('referred', change({ referred: 'APPROVED', seen })))
    .refused(
      'MODERATION_NOT_POSSIBLE',
      "referral: the sides were decided meanwhile: the referred side is DENIED, the referrer's PENDING",
    );
  given(referred.slice(0, -1), started({ ...decided }))
    .when(
      prepare('referred', change({ referred: 'APPROVED', seen: { ...seen, referred: 'DENIED' } })),
    )
    .then(held());
});

it('preparing the referred account checks its own side only', () => {
  const reward = ofReferral(BOB, credit(5), { cancellable: false });
  given(referred, reward).when(prepare('referred', DENY_REFERRER)).then(held());
});

it('preparing the referred account may deny a side whose reward was cancelled by request', () => {
  const reward = ofReferral(BOB);
  given(referred, reward, rewardCancelled(reward, 500, 3_000))
    .when(prepare('referred', DENY))
    .then(held());
});

const deny = (referralId: string) => change({ referralId, referrer: 'DENIED' });

it('preparing the referrer’s account holds all its referrals of the moderation in one event, and only those that are not held yet', () => {
  given(referrer)
    .when(prepare('referrer', deny('a'), deny('b')))
    .then(held('m', 'a', 'b'));
  given(referrer, held('m', 'a'))
    .when(prepare('referrer', deny('a'), deny('b')))
    .then(held('m', 'b'));
});

it('preparing the referrer’s account names every reason', () => {
  const redeemed = ofReferral(ANN, credit(5), { rewardId: 'ra', referralId: 'a' });
  const kept = ofReferral(ANN, credit(5), {
    rewardId: 'rb',
    referralId: 'b',
    cancellable: false,
  });
  given(referrer, redeemed, kept, creditRedeemed(redeemed, 'r', 5, 3_000))
    .when(prepare('referrer', deny('a'), deny('b'), deny('c')))
    .refused(
      'MODERATION_NOT_POSSIBLE',
      "a: the referrer side's reward has been redeemed",
      "b: the referrer side's reward is not cancellable",
    );
});

it('preparing the referrer’s account has nothing to hold when the account is gone', () => {
  given()
    .when(prepare('referrer', deny('a')))
    .then();
});

it('applying in the referred account needs the hold: without it the moderation was applied before', () => {
  given(referred, ofReferral(BOB)).when(apply('referred', DENY)).then();
  given(referred, ofReferral(BOB), held('other')).when(apply('referred', DENY)).then();
  given().when(apply('referred', DENY)).then();
});

it('applying a denial in the referred account cancels the reward', () => {
  const reward = ofReferral(BOB);
  given(referred, reward, held())
    .when(apply('referred', DENY))
    .then(moderated({ referredStatus: 'DENIED' }), rewardCancelled(reward, 500, NOW, 'MODERATION'));
});

it('applying in the referred account restores a reward that a moderation cancelled, on approval', () => {
  const reward = ofReferral(BOB);
  given(
    referred,
    reward,
    rewardCancelled(reward, 500, 3_000, 'MODERATION'),
    moderated({ at: 3_000, referredStatus: 'DENIED' }),
    held(),
  )
    .when(apply('referred', APPROVE))
    .then(moderated({}), aboutReward('RewardRestored', reward, 500, NOW));
});

it('applying in the referred account leaves a reward that was cancelled by request cancelled', () => {
  const reward = ofReferral(BOB);
  const cancelled = [reward, rewardCancelled(reward, 500, 3_000)];
  given(referred, cancelled, held())
    .when(apply('referred', DENY))
    .then(moderated({ referredStatus: 'DENIED' }));
  given(referred, cancelled, held()).when(apply('referred', APPROVE)).then(moderated({}));
  const pinned = [
    reward,
    rewardCancelled(reward, 500, 3_000, 'MODERATION'),
    rewardCancelled(reward, 0, 3_100),
  ];
  given(referred, pinned, held()).when(apply('referred', APPROVE)).then(moderated({}));
});

it('applying a denial that changes nothing in the referred account is recorded, since it has a date', () => {
  const reward = ofReferral(BOB);
  const denied = [
    reward,
    rewardCancelled(reward, 500, 3_000, 'MODERATION'),
    moderated({ at: 3_000, referredStatus: 'DENIED' }),
  ];
  const scenario = given(referred, denied, held());
  scenario.when(apply('referred', DENY)).then(moderated({ referredStatus: 'DENIED' }));
  const after = given(referred, denied, held(), moderated({ referredStatus: 'DENIED' }));
  expect(opened(after.state).referral).toMatchObject({ dateStarted: 2_000, dateModerated: NOW });
});

it("applying in the referred account records the referrer's earned reward, under its recorded terms", () => {
  const converted = referralConverted('referral', ANN, {
    referrerStatus: 'PENDING',
    referrerReward: TEN_DOLLARS,
  });
  given(HERE, started({ referrerStatus: 'PENDING' }), converted, held())
    .when(apply('referred', APPROVE_REFERRER))
    .then(moderated({ referrerReward: TEN_DOLLARS }));
  given(HERE, started({ referrerStatus: 'PENDING' }), held())
    .when(apply('referred', APPROVE_REFERRER))
    .then(moderated({ referrerReward: null }));
});

const granted = (value = discount(10), over: Partial<AccountEventOf<'RewardGranted'>> = {}) =>
  ofReferral(BOB, value, { rewardId: 'reward-of-approval', at: NOW, ...over });

it('a later approval in the referred account grants the reward of the start, once', () => {
  const waiting = [...HERE, started({ referredStatus: 'PENDING' })];
  given(waiting, held()).when(apply('referred', APPROVE)).then(moderated({}), granted());
  given(waiting, held(), moderated({}), granted(), held())
    .when(apply('referred', APPROVE))
    .then(moderated({}));
});

it('a later approval in the referred account grants the reward of a conversion in between', () => {
  const reward = terms(credit(700), { when: 'CONVERTED', validDays: 1, cancellable: false });
  const waiting = [...HERE, started({ referredStatus: 'PENDING', referredReward: null })];
  given(waiting, held()).when(apply('referred', APPROVE)).then(moderated({}));
  const converted = referralConverted('referral', ANN, {
    referredStatus: 'PENDING',
    referredReward: reward,
  });
  given(waiting, converted, held())
    .when(apply('referred', APPROVE))
    .then(
      moderated({}),
      granted(credit(700), { cancellable: false, dateExpires: NOW + 86_400_000 }),
    );
});

it('applying in the referred account records due dates: a reward that is restored after its time is expired', () => {
  const reward = ofReferral(BOB, credit(500), { dateScheduledFor: 3_000, dateExpires: 4_000 });
  given(referred, reward, held())
    .when(apply('referred', DENY))
    .then(
      moderated({ referredStatus: 'DENIED' }),
      aboutReward('RewardBecameAvailable', reward, 500, 3_000),
      aboutReward('RewardExpired', reward, 500, 4_000),
      rewardCancelled(reward, 500, NOW, 'MODERATION'),
    );
  given(referred, reward, rewardCancelled(reward, 500, 2_900, 'MODERATION'), held())
    .when(apply('referred', APPROVE))
    .then(
      moderated({}),
      aboutReward('RewardRestored', reward, 500, NOW),
      aboutReward('RewardBecameAvailable', reward, 500, 3_000),
      aboutReward('RewardExpired', reward, 500, 4_000),
    );
});

it('applying in the referred account ends the hold', () => {
  const { decision } = given(referred, held()).when(apply('referred', DENY));
  const after = given(referred, held(), 'events' in decision ? decision.events : []);
  expect(opened(after.state).holds.size).toBe(0);
  after.when(apply('referred', DENY)).then();
});

const side = (status: 'APPROVED' | 'DENIED', referralId = 'referral', at = NOW) =>
  referrerSideModerated(status, at, referralId);

it('applying in the referrer’s account cancels for a denial and restores for an approval, each for its referral', () => {
  const [a, b] = ['a', 'b'].map((referralId) =>
    ofReferral(ANN, credit(5), {
      rewardId: `reward-${referralId}`,
      referralId,
      source: 'FRIEND_SIGNUP',
    }),
  );
  if (!a || !b) throw new Error('both rewards are needed');
  given(referrer, a, b, rewardCancelled(b, 5, 3_000, 'MODERATION'), held('m', 'a', 'b'))
    .when(
      apply(
        'referrer',
        change({ referralId: 'a', referrer: 'DENIED' }),
        change({ referralId: 'b', referrer: 'APPROVED' }),
      ),
    )
    .then(
      side('DENIED', 'a'),
      rewardCancelled(a, 5, NOW, 'MODERATION'),
      side('APPROVED', 'b'),
      aboutReward('RewardRestored', b, 5, NOW),
    );
});

it('applying in the referrer’s account remembers the outcome before there is a reward', () => {
  const { state } = given(referrer, held(), side('DENIED'));
  expect(opened(state).referrerSides.toObject()).toEqual({ referral: 'DENIED' });
  expect(opened(state).holds.size).toBe(0);
});

const released: AccountEvent = { type: 'ModerationReleased', at: NOW, moderationId: 'm' };

it('releasing ends every hold of this moderation, and no other', () => {
  given(referrer, held('m', 'a', 'b'), held('other', 'c'))
    .when(release)
    .then(released);
  expect(
    opened(
      given(referrer, held('m', 'a', 'b'), held('other', 'c'), released).state,
    ).holds.toObject(),
  ).toEqual({ c: 'other' });
});

it('releasing changes nothing the second time, or without a hold', () => {
  given(referrer, held(), released).when(release).then();
  given(referrer).when(release).then();
  given().when(release).then();
});

const erased = erasureRequested([BOB.person], { at: 3_000, account: ACME.accountRef });
const nameless = (party: Party): Party => ({
  ...party,
  ids: { subject: party.ids.subject, value: null },
});
const formerModerated = (over: Partial<AccountEventOf<'ReferralModerated'>>) =>
  moderated({ referrer: nameless(ANN), ...over });
const reward = ofReferral(BOB, discount(10), { cancellable: false });
const gone = [
  ...referred,
  reward,
  referralConverted('referral', ANN, { referrerReward: TEN_DOLLARS }),
  erased,
];

it.each([
  ['absent', gone],
  ['opened anew', [...gone, ...HERE]],
  ['referred anew', [...gone, ...HERE, referralStarted('second', BOB, ANN, {})]],
])(
  'a referral from before the account was deleted is held, applied and released: %s',
  (_, events) => {
    given(events)
      .when(prepare('referred', change({ referrer: 'DENIED', referred: 'DENIED' })))
      .then(held());
    given(events, held('other')).when(prepare('referred', DENY_REFERRER)).heldBy('other');
    given(events, held())
      .when(apply('referred', change({ referrer: 'DENIED', referred: 'DENIED' })))
      .then(
        formerModerated({
          referredStatus: 'DENIED',
          referrerStatus: 'DENIED',
          referrerReward: TEN_DOLLARS,
        }),
      );
    given(events, held(), formerModerated({ referrerStatus: 'DENIED' }))
      .when(apply('referred', DENY_REFERRER))
      .then();
    given(
      events,
      held(),
      formerModerated({ referredStatus: 'DENIED', referrerStatus: 'DENIED' }),
      held('next'),
    )
      .when({ ...apply('referred', APPROVE_REFERRER), moderationId: 'next' })
      .then(
        formerModerated({
          moderationId: 'next',
          referredStatus: 'DENIED',
          referrerReward: TEN_DOLLARS,
        }),
      );
    given(events, held())
      .when(release)
      .then({ type: 'ModerationReleased', at: NOW, moderationId: 'm' });
    given(events, held(), { type: 'ModerationReleased', at: NOW, moderationId: 'm' })
      .when(apply('referred', DENY_REFERRER))
      .then();
  },
);

it('a referral from before the account was deleted stays held when an erasure is replayed on a restored log', () => {
  given(referred, held(), erased)
    .when(apply('referred', DENY_REFERRER))
    .then(formerModerated({ referrerStatus: 'DENIED' }));
});
