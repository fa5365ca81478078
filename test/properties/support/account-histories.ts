import fc from 'fast-check';
import type { CompleteCommand } from '../../domain/support/decisions.js';
import {
  initialState,
  unitOf,
  type AccountState,
  type OpenAccount,
} from '../../../src/domain/account/account.state.js';
import { personal } from '../../../src/domain/personal.js';
import { NOTHING_PROVIDED } from '../../../src/domain/need.js';
import type { RewardTerms, RewardValue, SideStatus } from '../../../src/domain/program.js';
import { ACME, terms } from '../../domain/support/account-scenario.js';
import {
  createReward,
  redeemAccountCredit,
  redeemCredit,
  syncAccount,
  TRIAL,
  upsertUser,
} from '../../domain/support/commands.js';
import { credit, discount, personOf } from '../../support/account-events.js';

/** Commands on the credit of one account in any order, with few ids and small amounts. */

const USERS = ['bob', 'cat'] as const;
const START = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
export const UNITS = ['CENTS', 'points'] as const;

/**
 * Turns into a command once the state, the step (which gives it its ids) and the clock are known.
 */
type Intent = (at: {
  readonly state: AccountState;
  readonly step: number;
  readonly now: number;
}) => CompleteCommand;

export interface Step {
  readonly passedMs: number;
  readonly intent: Intent;
}

const hours = (min: number, max: number) =>
  fc.integer({ min, max }).map((count) => count * HOUR_MS);
const user = fc.constantFrom(...USERS);
const unit = fc.constantFrom('CENTS', 'Cents', 'points', 'POINTS');
const amount = fc.integer({ min: 1, max: 6 });
const status = fc.option(fc.constantFrom<SideStatus>('APPROVED', 'DENIED'), {
  nil: undefined,
  freq: 6,
});

const value = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({ unit, assignedCredit: fc.integer({ min: 1, max: 20 }) })
      .map((given): RewardValue => credit(given.assignedCredit, given.unit)),
  },
  // As much as can be counted: the next credit of this unit is too much.
  fc.constantFrom<RewardValue>(discount(10), credit(Number.MAX_SAFE_INTEGER - 40)),
);

const earned: fc.Arbitrary<RewardTerms> = fc
  .record({
    value,
    validDays: fc.option(fc.integer({ min: 1, max: 2 })),
    delayDays: fc.integer({ min: 0, max: 1 }),
    redeemsAutomatically: fc.constantFrom(false, false, true),
  })
  .map(({ value: given, ...over }) => terms(given as RewardTerms['value'], over));

/** The n-th id that is there, round and round; now and then one that is not. */
function pick(ids: readonly string[], index: number): string {
  return index === 0 ? 'nothing' : (ids[index % ids.length] ?? 'nothing');
}
const isOpen = (state: AccountState): state is OpenAccount => state.status === 'open';
const rewardsOf = (state: AccountState): string[] =>
  isOpen(state) ? [...state.rewards.keys()].sort() : [];

const create = fc
  .record({
    userId: user,
    value,
    cancellable: fc.boolean(),
    redeemsAutomatically: fc.boolean(),
    in: fc.option(hours(-1, 30)),
    until: fc.option(hours(0, 60)),
  })
  .map(
    ({ in: scheduledIn, until, ...members }): Intent =>
      ({ step, now }) =>
        createReward({
          rewardId: `manual-${step}`,
          ...members,
          now,
          dateScheduledFor: scheduledIn === null ? null : now + scheduledIn,
          dateExpires: until === null ? null : now + until,
        }),
  );

const ofReward = fc
  .record({
    type: fc.constantFrom('CancelReward' as const, 'SettleReward' as const),
    index: fc.nat(30),
  })
  .map(({ type, index }): Intent => ({ state, now }) => ({
    type,
    rewardId: pick(rewardsOf(state), index),
    now,
  }));

/** In the reward's own unit, unless another one is given. */
const redeem = fc
  .record({ index: fc.nat(30), amount, unit: fc.option(unit, { freq: 1 }) })
  .map(({ index, unit: given, amount: asked }): Intent => ({ state, step, now }) => {
    const rewardId = pick(rewardsOf(state), index);
    const reward = isOpen(state) ? state.rewards.get(rewardId) : undefined;
    const own = (reward && unitOf(reward.value)) ?? 'CENTS';
    const redemptionId = `redemption-${step}`;
    return redeemCredit(rewardId, asked, { redemptionId, unit: given ?? own, now });
  });

const redeemAccount = fc.record({ amount, unit }).map(
  ({ amount: asked, unit: given }): Intent =>
    ({ step, now }) =>
      redeemAccountCredit(asked, { redemptionId: `redemption-${step}`, unit: given, now }),
);

const REFERRALS = ['made-0', 'made-1'] as const;

const grant = fc
  .record({ referralId: fc.constantFrom(...REFERRALS), userId: user, terms: earned })
  .map(({ referralId, userId, terms: given }): Intent => ({ now }) => ({
    type: 'GrantReferrerReward',
    referralId,
    rewardId: `${referralId}/referrer`,
    person: personOf(ACME, userId),
    terms: given,
    programId: 'default',
    programVersion: 1,
    earnedAt: now,
    provided: NOTHING_PROVIDED,
  }));

/** The next step of a moderation, mostly: what is held is applied, what is not is prepared. */
const moderation = fc
  .record({
    step: fc.constantFrom('next', 'next', 'next', 'prepare', 'apply', 'release'),
    moderation: fc.constantFrom('m-1', 'm-2'),
    referralId: fc.constantFrom(...REFERRALS),
    referrer: status,
  })
  .map(({ step, moderation: wanted, referralId, referrer }): Intent => ({ state, now }) => {
    const hold = isOpen(state) ? state.holds.get(referralId) : undefined;
    const moderationId = step === 'next' ? (hold ?? wanted) : wanted;
    if (step === 'release') return { type: 'ReleaseModeration', moderationId, now };
    const changes = [{ referralId, referred: undefined, referrer }];
    const command = { moderationId, side: 'referrer' as const, changes, now };
    return step === 'apply' || (step === 'next' && hold !== undefined)
      ? { type: 'ApplyModeration', ...command, rewardIds: {}, provided: NOTHING_PROVIDED }
      : { type: 'PrepareModeration', ...command };
  });

const adjust = fc
  .record({ userId: user, unit, amount: fc.integer({ min: -8, max: 8 }) })
  .map((members): Intent => ({ step, now }) => ({
    type: 'AdjustCredit',
    ...members,
    reason: 'a test',
    approvedBy: personal('staff', 'bo'),
    by: personal('staff', 'al'),
    rewardId: `adjusted-${step}`,
    redemptionId: `adjusted-${step}`,
    now,
  }));

const intent: fc.Arbitrary<Intent> = fc.oneof(
  { weight: 1, arbitrary: adjust },
  { weight: 4, arbitrary: create },
  { weight: 3, arbitrary: ofReward },
  { weight: 5, arbitrary: redeem },
  { weight: 4, arbitrary: redeemAccount },
  { weight: 3, arbitrary: grant },
  { weight: 4, arbitrary: moderation },
);

const OPENING: readonly Intent[] = [
  () => syncAccount(TRIAL),
  ...USERS.map(
    (userId): Intent =>
      () =>
        upsertUser(userId),
  ),
];
const forget: Intent = ({ now }) => ({
  type: 'ForgetUser',
  userId: 'bob',
  erasureId: 'erasure',
  suppressed: null,
  preserveEmptyAccount: true,
  customer: null,
  now,
});

/** Somewhere in it one of the two users is forgotten. */
export const historyWithErasure: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(fc.record({ passedMs: fc.oneof(fc.constant(0), hours(0, 10)), intent }), {
      minLength: 5,
      maxLength: 50,
      size: 'max',
    }),
    fc.nat(60),
  )
  .map(([steps, at]) => [
    ...OPENING.map((first): Step => ({ passedMs: 0, intent: first })),
    ...steps.toSpliced(at, 0, { passedMs: 0, intent: forget }),
  ]);

/** The commands of a history, one by one; `run` carries each out and says which state it led to. */
export async function playOut(
  steps: readonly Step[],
  run: (
    command: CompleteCommand,
    step: number,
    now: number,
  ) => Promise<AccountState> | AccountState,
): Promise<void> {
  let state = initialState;
  let now = START;
  for (const [step, { passedMs, intent: make }] of steps.entries()) {
    now += passedMs;
    state = await run(make({ state, step, now }), step, now);
  }
}
