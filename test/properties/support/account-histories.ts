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
<<<<<<< HEAD
  createReward,
  redeemAccountCredit,
  redeemCredit,
  syncAccount,
  TRIAL,
  upsertUser,
} from '../../domain/support/commands.js';
import { credit, discount, personOf } from '../../support/account-events.js';
=======
  NOTHING_PROVIDED,
  type Provided,
  type ProvidedTankCode,
} from '../../../src/domain/need.js';
import type {
  EventRefund,
  EventReward,
  PromisedValue,
  RewardTerms,
  RewardValue,
  SideStatus,
} from '../../../src/domain/program.js';
import { ACME, ANN, DEFAULT } from '../../domain/support/account-scenario.js';
import { PAID, syncAccount, upsertUser } from '../../domain/support/commands.js';
import { credit, discount, partyOf, personOf, tankCode } from '../../support/account-events.js';
>>>>>>> c818f556 (An event refunds what an earlier event of the user earned)

/**
 * What may be asked about the credit of one account, in any order, while a virtual clock goes on.
 * Few ids, small amounts: so that things meet. Everything else that an account may be asked is
 * wished for in the simulator.
 */

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

<<<<<<< HEAD
const earned: fc.Arbitrary<RewardTerms> = fc
  .record({
    value,
    validDays: fc.option(fc.integer({ min: 1, max: 2 })),
    delayDays: fc.integer({ min: 0, max: 1 }),
    redeemsAutomatically: fc.constantFrom(false, false, true),
=======
/** What is promised: a tank code is named when it is handed out. */
const promised: fc.Arbitrary<PromisedValue> = value.map((given) => {
  if (given.type !== 'FUELTANK') return given;
  const { fuelTankCode: _, ...tank } = given;
  return tank;
});

const grantTerms = {
  value: promised,
  name: fc.constant(null),
  description: fc.constant(null),
  cancellable: fc.boolean(),

  validDays: fc.option(fc.integer({ min: 1, max: 2 })),
  delayDays: fc.integer({ min: 0, max: 1 }),
  limit: fc.option(
    fc.record({
      total: fc.option(fc.integer({ min: 1, max: 3 })),
      perDay: fc.option(fc.constant(1)),
    }),
    { freq: 1 },
  ),
  redeemsAutomatically: fc.constantFrom(false, false, true),
};

const terms = (when: RewardTerms['when']): fc.Arbitrary<RewardTerms | null> =>
  fc.option(
    fc.record({
      ...grantTerms,
      when: fc.constantFrom(when, when, 'STARTED' as const, 'CONVERTED' as const),
    }),
  );

/** A visit refunds what a purchase of the same total earned, and the other way round. */
const refundOf = (key: string): EventRefund => ({
  key: key === 'visit' ? 'purchase' : 'visit',
  field: 'total',
});
const refundable = <C extends { readonly key: string; readonly isRefundable: boolean }>({
  isRefundable,
  ...rule
}: C) => ({ ...rule, ...(isRefundable && { refund: refundOf(rule.key) }) });
const condition = {
  isRefundable: fc.boolean(),
  key: fc.constantFrom('visit', 'purchase'),
  firstTimeOnly: fc.boolean(),
  minimum: fc.option(
    fc.record({ field: fc.constant('total'), value: fc.integer({ min: 1, max: 9 }) }),
    { freq: 1 },
  ),
};
const eventReward: fc.Arbitrary<EventReward> = fc
  .record({
    rule: fc.constantFrom('one', 'two'),
    to: fc.constantFrom('USER' as const, 'REFERRER' as const),
    terms: fc.record(grantTerms),
    ...condition,
  })
  .map(refundable);

const handling = fc.constantFrom('ignore' as const, 'pending' as const, 'deny' as const);

const program = fc
  .record({
    referredReward: terms('STARTED'),
    referrerReward: terms('CONVERTED'),
    moderation: fc.record({ referred: side, referrer: side }),
    conversion: fc.oneof(
      fc.constant({ on: 'PAID' as const }),
      fc.record({ on: fc.constant('EVENT' as const), ...condition }).map(refundable),
    ),
    eventRewards: fc.uniqueArray(eventReward, { maxLength: 2, selector: ({ rule }) => rule }),
    fraud: fc.record({ name: handling, email: handling, ip: handling, rate: handling }),
>>>>>>> c818f556 (An event refunds what an earlier event of the user earned)
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

<<<<<<< HEAD
=======
const fields = fc.record(
  { total: fc.constantFrom(1, 5, 9.5, '9'), gift: fc.boolean() },
  { requiredKeys: [] },
);

const receive = fc
  .record({
    userId: user,
    contents: fc.array(
      fc.record({
        idRef: fc.option(fc.constantFrom('id-1', 'id-2')),
        key: fc.constantFrom('visit', 'purchase'),
        fields,
      }),
      { minLength: 1, maxLength: 3 },
    ),
    batch: fc.option(fc.constantFrom('batch-1', 'batch-2')),
    outside,
  })
  .map(({ userId, contents, batch, outside: given }): Intent => ({ step, now }) => ({
    type: 'ReceiveUserEvents',
    userId,
    batch,
    events: contents.map(({ idRef, ...content }, index) => ({
      userEventId: `event-${step}-${index}`,
      idRef,
      content: { id: `event-${step}-${index}`, dateTriggered: now, ...content },
    })),
    programs: given.program === null ? [] : [given.program],
    context: contextOf(given, step, now),
    rewardIdOf: (userEventId, programId, rule) => `${userEventId}/${programId}/${rule}`,
    valueRef: (_, value) => JSON.stringify(value),
  }));

const earnedByEvent = fc
  .record({ userId: user, terms: fc.record(grantTerms) })
  .map(({ userId, terms: earned }): Intent => ({ step, now }) => ({
    type: 'GrantEventReward',
    referralId: 'made-0',
    rewardId: `made-0/event-${step}`,
    person: personOf(ACME, userId),
    terms: earned,

    programId: 'default',
    programVersion: 1,
    rule: 'one',
    earnedAt: now,
    provided: provided(step, now),
  }));

>>>>>>> c818f556 (An event refunds what an earlier event of the user earned)
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
