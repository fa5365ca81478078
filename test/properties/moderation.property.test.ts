import fc from 'fast-check';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { holdOn, referralOf } from '../../src/domain/account/former-referrals.js';
import {
  evolve,
  initialState,
  type AccountState,
  type OpenAccount,
  type RewardState,
} from '../../src/domain/account/account.state.js';
import { availableCredit } from '../../src/domain/account/redemption.js';
import type { SideStatus } from '../../src/domain/program.js';
import {
  MODERATION_ACTIONS,
  type ModerationAction,
} from '../../src/domain/moderation/moderation.decider.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { DyingLog } from '../command-handling/support/troubled-logs.js';
import { LedgerOfAccounts, streamOf, type LedgerProcess } from './support/ledger-of-accounts.js';
import { Postings } from './support/postings.js';
import { runs } from '../support/property-runs.js';

/**
 * One referral, moderated at any point between its start and what comes after its conversion, by a
 * process that dies after any append: in between others convert, redeem, cancel, let time pass, and
 * one of them carries the moderation on.
 */
const [REFERRER, REFERRED] = ['anns', 'acme'] as const;
const START = 1_700_000_000_000;
const DAY_MS = 86_400_000;

const reward = fc.record({
  type: fc.constant('CREDIT'),
  unit: fc.constant('CENTS'),
  assignedCredit: fc.constant(10),

  when: fc.constantFrom('STARTED', 'CONVERTED'),
  cancellable: fc.constantFrom(true, true, true, false),
  delayDays: fc.constantFrom(0, 0, 1),
  validDays: fc.constantFrom(null, null, 2),
});
const program: fc.Arbitrary<ProgramDocument> = fc.record({
  id: fc.constant('default'),
  referredReward: reward,
  referrerReward: reward,
  moderation: fc.record({
    referred: fc.constantFrom('APPROVED', 'PENDING'),
    referrer: fc.constantFrom('APPROVED', 'PENDING'),
  }),
  automaticRedemption: fc.constantFrom([], [], [], ['CREDIT']),
});

type Step =
  | {
      readonly kind: 'moderate';
      readonly action: ModerationAction;
      readonly diesAfter: number;
      readonly which: number;
    }
  | { readonly kind: 'sync'; readonly status: 'PAID' | 'CANCELLED' }
  | {
      readonly kind: 'redeem';
      readonly accountId: string;
      readonly amount: number;
      readonly ofAccount: boolean;
    }
  | { readonly kind: 'cancel' | 'settle'; readonly accountId: string }
  | { readonly kind: 'wait'; readonly days: number }
  | { readonly kind: 'react' }
  /**
   * The account as a whole, or its user only; a new one under the id starts empty and may be
   * referred again.
   */
  | { readonly kind: 'forget'; readonly accountId: string; readonly whole: boolean }
  | { readonly kind: 'comeBack'; readonly accountId: string };

const accountId = fc.constantFrom(REFERRER, REFERRED);
const step: fc.Arbitrary<Step> = fc.oneof(
  // Requested, prepared twice, agreed, applied twice, completed: seven appends; 9 means that it
  // lives.
  fc.record({
    kind: fc.constant('moderate' as const),
    action: fc.constantFrom(...MODERATION_ACTIONS),
    diesAfter: fc.integer({ min: 1, max: 9 }),
    which: fc.nat(3),
  }),
  fc.record({
    kind: fc.constant('moderate' as const),
    action: fc.constantFrom(...MODERATION_ACTIONS),
    diesAfter: fc.integer({ min: 2, max: 5 }),
    which: fc.nat(3),
  }),
  fc.record({
    kind: fc.constant('sync' as const),
    status: fc.constantFrom('PAID' as const, 'PAID' as const, 'CANCELLED' as const),
  }),
  fc.record({
    kind: fc.constant('redeem' as const),
    accountId,
    amount: fc.integer({ min: 1, max: 12 }),
    ofAccount: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('cancel' as const, 'settle' as const), accountId }),
  fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 2 }) }),
  fc.constant({ kind: 'react' as const }),
  fc.record({
    kind: fc.constant('forget' as const),
    accountId,
    whole: fc.constantFrom(true, true, false),
  }),
  fc.record({ kind: fc.constant('comeBack' as const), accountId }),
);

const sync = (account: string, status: 'TRIAL' | 'PAID' | 'CANCELLED'): AccountRequest => {
  const billing =
    status === 'PAID'
      ? ({ value: 9, billingIntervalType: 'MONTH', billingIntervalValue: 1 } as const)
      : {};
  return {
    type: 'SyncAccount',
    accountId: account,
    subscription: { status, ...billing },
    currency: undefined,
    codes: [],
  };
};
const upsert = (
  userId: string,
  codes: readonly string[],
  referralCode?: string,
): AccountRequest => ({
  type: 'UpsertUser',
  userId,
  changes: {},
  referralCode,
  referralCodes: {},
  paymentProviderId: undefined,
  codes,
});

let now = START;
beforeEach(() => {
  now = START;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

class Play {
  private readonly requested: string[] = [];
  private referrerCode = 'ANN';
  private count = 0;

  private constructor(
    private readonly ledger: LedgerOfAccounts,
    readonly living: LedgerProcess,
    readonly referralIds: string[],
  ) {}

  static async open(document: ProgramDocument): Promise<Play> {
    const ledger = await LedgerOfAccounts.open(document);
    const living = ledger.process();
    await living.send(REFERRER, sync(REFERRER, 'TRIAL'), 'referrer');
    await living.send(REFERRER, upsert('ann', [], 'ANN'), 'ann');
    await living.send(REFERRED, sync(REFERRED, 'TRIAL'), 'referred');
    await living.send(REFERRED, upsert('bob', ['ANN']), 'bob');
    const play = new Play(ledger, living, []);
    await play.noteReferral();
    return play;
  }

  async take(one: Step): Promise<void> {
    const key = `step ${this.count++}`;
    switch (one.kind) {
      case 'moderate':
        this.requested.push(key);
        // A process that dies has told nobody how far it came.
        await this.ledger
          .process((log) => new DyingLog(log, one.diesAfter))
          .moderateReferral(
            this.referralIds[one.which % this.referralIds.length] ?? '',
            one.action,
            key,
          )
          .catch(() => undefined);
        return;
      case 'sync':
        await this.living.send(REFERRED, sync(REFERRED, one.status), key);
        return;
      case 'redeem':
        await this.redeem(one, key);
        return;
      case 'cancel':
      case 'settle': {
        const rewardId = firstRewardIn(await this.living.account(one.accountId));
        await this.living.send(
          one.accountId,
          { type: one.kind === 'cancel' ? 'CancelReward' : 'SettleReward', rewardId },
          key,
        );
        return;
      }
      case 'wait':
        now += one.days * DAY_MS;
        return;
      case 'react':
        return this.ledger.react(this.living);
      case 'forget': {
        const userId = one.accountId === REFERRER ? 'ann' : 'bob';
        const how = { doNotTrack: false } as const;
        await this.living.send(
          one.accountId,
          one.whole
            ? { type: 'ForgetAccount', ...how }
            : { type: 'ForgetUser', userId, preserveEmptyAccount: true, ...how },
          key,
        );
        return;
      }
      case 'comeBack':
        await this.comeBack(one.accountId, key);
    }
  }

  /** A code of before is never given again. */
  private async comeBack(account: string, key: string): Promise<void> {
    const opening = { openAccount: account };
    if (account === REFERRER) {
      const code = `ANN${this.count}`;
      const outcome = await this.living.send(
        account,
        { ...upsert('ann', [], code), ...opening },
        key,
      );
      if (outcome.kind === 'accepted' && outcome.events.length > 0) this.referrerCode = code;
    } else
      await this.living.send(account, { ...upsert('bob', [this.referrerCode]), ...opening }, key);
    await this.noteReferral();
  }

  private async noteReferral(): Promise<void> {
    const state = await this.living.account(REFERRED);
    const referralId = state.status === 'open' ? state.referral?.referralId : undefined;
    if (referralId !== undefined && !this.referralIds.includes(referralId))
      this.referralIds.push(referralId);
  }

  private async redeem(
    { accountId: account, amount, ofAccount }: Extract<Step, { kind: 'redeem' }>,
    key: string,
  ): Promise<void> {
    const rewardId = firstRewardIn(await this.living.account(account));
    const what = { amount, unit: 'CENTS' };
    await this.living.send(
      account,
      ofAccount
        ? { type: 'RedeemAccountCredit', ...what }
        : { type: 'RedeemCredit', rewardId, ...what },
      key,
    );
  }

  /** Every moderation comes to its end, and every policy reacts. @returns the facts, in order. */
  async finish(): Promise<readonly { readonly stream: string; readonly event: AccountEvent }[]> {
    for (const key of this.requested) await this.living.finishModeration(key);
    await this.ledger.react(this.living);
    return this.ledger.facts();
  }
}

const firstRewardIn = (state: AccountState): string => rewardsIn(state)[0]?.rewardId ?? 'nothing';
const rewardsIn = (state: AccountState): RewardState[] =>
  state.status === 'open' ? [...state.rewards.values()] : [];

/**
 * What must never happen, whatever the outcome: credit that was spent is taken, or a reward that
 * cannot be cancelled is.
 */
function brokenBy(facts: readonly AccountEvent[]): string[] {
  const broken: string[] = [];
  const postings = new Postings();
  let state: AccountState = initialState;
  for (const event of facts) {
    if (event.type === 'RewardCancelled' && state.status === 'open') {
      const { redeemed = 0, cancellable = true } = state.rewards.get(event.rewardId) ?? {};
      if (redeemed > 0) broken.push('a redeemed reward was cancelled');
      if (!cancellable) broken.push('a reward that is not cancellable was cancelled');
    }
    // Throws when a place would be overdrawn.
    postings.post(event);
    state = evolve(state, event);
  }
  if (state.status !== 'open') return broken;
  const [available, expected] = [
    availableCredit(state, 'CENTS', now),
    postingsOfThePresent(facts, state).availableAt('CENTS', now),
  ];
  if (available !== expected) broken.push(`${available} are available, by the facts ${expected}`);
  if (state.holds.size > 0) broken.push('something is still held');
  return broken;
}

/** Of the account's present life, and of those who are not forgotten. */
function postingsOfThePresent(facts: readonly AccountEvent[], { remains }: OpenAccount): Postings {
  const postings = new Postings();
  for (const event of facts.slice(facts.findLastIndex(({ type }) => type === 'AccountOpened')))
    if (!('person' in event) || !remains.forgotten.has(event.person)) postings.post(event);
  return postings;
}

/** How the rewards of a side contradict its status. */
function contradictions(
  side: string,
  status: SideStatus,
  isEarned: boolean,
  rewards: readonly RewardState[],
): string[] {
  const standing = rewards.filter(({ dateCancelled }) => dateCancelled === null);
  const found: string[] = [];
  if (status !== 'APPROVED' && standing.length > 0)
    found.push(`the ${side} side is ${status} and has a reward`);
  if (rewards.length > 1) found.push(`the ${side} side was rewarded ${rewards.length} times`);
  if (status === 'APPROVED' && isEarned !== (rewards.length === 1))
    found.push(`the ${side} side has earned: ${isEarned}, was given: ${!isEarned}`);
  if (status === 'APPROVED' && rewards.some(({ cancelledBy }) => cancelledBy === 'MODERATION'))
    found.push(`the ${side} side is approved and its reward cancelled by moderation`);
  return found;
}

const CREDIT = {
  type: 'CREDIT',
  unit: 'CENTS',
  assignedCredit: 10,
  when: 'CONVERTED',
  delayDays: 0,
  validDays: null,
};
const STORIES: readonly (readonly [ProgramDocument, Step[]])[] = [
  // Prepared everywhere and not decided, then the conversion and the redemption of what it earned.
  [
    {
      id: 'default',
      referredReward: { ...CREDIT, cancellable: false },
      referrerReward: { ...CREDIT, cancellable: true },
    },
    [
      { kind: 'moderate', action: 'DENIED', diesAfter: 3, which: 0 },
      { kind: 'sync', status: 'PAID' },
      { kind: 'redeem', accountId: REFERRED, amount: 5, ofAccount: true },
    ],
  ],
  // Denied, approved again, spent and expired.
  [
    {
      id: 'default',
      referredReward: { ...CREDIT, when: 'STARTED', cancellable: true, validDays: 2 },
      referrerReward: CREDIT,
    },
    [
      { kind: 'moderate', action: 'DENIED', diesAfter: 9, which: 0 },
      { kind: 'moderate', action: 'APPROVED', diesAfter: 9, which: 0 },
      { kind: 'redeem', accountId: REFERRED, amount: 5, ofAccount: true },
      { kind: 'wait', days: 2 },
      { kind: 'settle', accountId: REFERRED },
    ],
  ],
  // The referred account is deleted, and opened and referred anew; then the referrer's side of the
  // first referral is moderated.
  [
    {
      id: 'default',
      moderation: { referrer: 'PENDING' },
      referredReward: { ...CREDIT, when: 'STARTED', cancellable: true },
      referrerReward: { ...CREDIT, when: 'STARTED', cancellable: true },
    },
    [
      { kind: 'forget', accountId: REFERRED, whole: true },
      { kind: 'moderate', action: 'APPROVED', diesAfter: 9, which: 0 },
      { kind: 'react' },
      { kind: 'comeBack', accountId: REFERRED },
      { kind: 'moderate', action: 'REFERRER_DENIED', diesAfter: 3, which: 0 },
      { kind: 'redeem', accountId: REFERRER, amount: 1, ofAccount: true },
    ],
  ],
];

/**
 * What the two accounts say of one referral, which may be of a life that the referred account had
 * before.
 */
function contradictionsOf(
  referralId: string,
  referred: AccountState,
  referrer: AccountState,
): string[] {
  const referral = referralOf(referred, referralId);
  if (!referral) return ['the referral is gone'];
  const isPresent = (state: AccountState, person: string): boolean =>
    state.status === 'open' && state.users.has(person);
  const rewardsOf = (state: AccountState): RewardState[] =>
    rewardsIn(state).filter((one) => one.referralId === referralId);
  const told = referrer.status === 'open' ? referrer.referrerSides.get(referralId) : undefined;
  const found: string[] = [];
  if (isPresent(referred, referral.referred.person))
    found.push(
      ...contradictions(
        'referred',
        referral.referredStatus,
        referral.referredEarned !== null,
        rewardsOf(referred),
      ),
    );
  if (isPresent(referrer, referral.referrer.person))
    found.push(
      ...contradictions(
        'referrer',
        referral.referrerStatus,
        referral.referrerEarned !== null,
        rewardsOf(referrer),
      ),
    );
  if (told !== undefined && told !== referral.referrerStatus)
    found.push('the two accounts say different things of the referrer’s side');
  if (holdOn(referred, referralId) !== undefined || holdOn(referrer, referralId) !== undefined)
    found.push('the referral is still held');
  return found;
}

it('a moderation at any point neither cancels redeemed credit nor contradicts itself', async () => {
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      program,
      fc.array(step, { minLength: 4, maxLength: 14, size: 'max' }),
      async (document, steps) => {
        now = START;
        const play = await Play.open(document);
        for (const one of steps) await play.take(one);
        const facts = await play.finish();
        const broken = [REFERRED, REFERRER].flatMap((account) =>
          brokenBy(
            facts.filter(({ stream }) => stream === streamOf(account)).map(({ event }) => event),
          ),
        );
        const [referred, referrer] = [
          await play.living.account(REFERRED),
          await play.living.account(REFERRER),
        ];
        for (const referralId of play.referralIds)
          broken.push(...contradictionsOf(referralId, referred, referrer));
        expect(broken).toEqual([]);
        for (const { event } of facts) reached.add(event.type);
      },
    ),
    { numRuns: runs(40), examples: STORIES.map(([document, steps]) => [document, steps]) },
  );
  // Else the property would say little.
  for (const type of [
    'ReferralConverted',
    'ReferralModerated',
    'RewardCancelled',
    'RewardRestored',
    'CreditRedeemed',
    'RewardExpired',
  ])
    expect([...reached]).toContain(type);
}, 120_000);
