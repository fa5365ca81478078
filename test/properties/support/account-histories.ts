import fc from 'fast-check';
import { List } from 'immutable';
import type { CompleteCommand } from '../../domain/support/decisions.js';
import type { Subscription } from '../../../src/domain/account/account.events.js';
import {
  initialState,
  unitOf,
  type AccountState,
  type OpenAccount,
} from '../../../src/domain/account/account.state.js';
import type { ReferralContext } from '../../../src/domain/account/referral/referral.js';
import type { Referrer } from '../../../src/domain/account/referral/referral-parties.js';
import { personal } from '../../../src/domain/personal.js';
import {
  NOTHING_PROVIDED,
  type Provided,
  type ProvidedTankCode,
} from '../../../src/domain/need.js';
import type {
  EventReward,
  PromisedValue,
  RewardTerms,
  RewardValue,
  SideStatus,
} from '../../../src/domain/program.js';
import { ACME, ANN, DEFAULT } from '../../domain/support/account-scenario.js';
import { PAID, syncAccount, upsertUser } from '../../domain/support/commands.js';
import { credit, discount, partyOf, personOf, tankCode } from '../../support/account-events.js';

/**
 * What may be asked of one account, in any order, while a virtual clock goes on. Few ids, small
 * amounts: so that things meet.
 */

export { ACME };
const USERS = ['bob', 'cat'] as const;
const START = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
export const UNITS = ['CENTS', 'points'] as const;

/**
 * Turns into a command once the state, the step (which gives it its ids) and the clock are known.
 */
export type Intent = (at: {
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
const status: fc.Arbitrary<SideStatus> = fc.constantFrom('APPROVED', 'DENIED');
const side: fc.Arbitrary<SideStatus> = fc.constantFrom('APPROVED', 'PENDING', 'DENIED');

const value: fc.Arbitrary<RewardValue> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({ unit, assignedCredit: fc.integer({ min: 1, max: 20 }) })
      .map((given) => credit(given.assignedCredit, given.unit)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<RewardValue>(
      discount(10),
      tankCode('TANK'),
      // As much as can be counted: the next credit of this unit is too much.
      credit(Number.MAX_SAFE_INTEGER - 40),
    ),
  },
);

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

const condition = {
  key: fc.constantFrom('visit', 'purchase'),
  firstTimeOnly: fc.boolean(),
  minimum: fc.option(
    fc.record({ field: fc.constant('total'), value: fc.integer({ min: 1, max: 9 }) }),
    { freq: 1 },
  ),
};
const eventReward: fc.Arbitrary<EventReward> = fc.record({
  rule: fc.constantFrom('one', 'two'),
  to: fc.constantFrom('USER' as const, 'REFERRER' as const),
  terms: fc.record(grantTerms),
  ...condition,
});

const handling = fc.constantFrom('ignore' as const, 'pending' as const, 'deny' as const);

const program = fc
  .record({
    referredReward: terms('STARTED'),
    referrerReward: terms('CONVERTED'),
    moderation: fc.record({ referred: side, referrer: side }),
    conversion: fc.oneof(
      fc.constant({ on: 'PAID' as const }),
      fc.record({ on: fc.constant('EVENT' as const), ...condition }),
    ),
    eventRewards: fc.uniqueArray(eventReward, { maxLength: 2, selector: ({ rule }) => rule }),
    fraud: fc.record({ name: handling, email: handling, ip: handling, rate: handling }),
  })
  .map((over) => ({ ...DEFAULT, ...over }));

const A_FRIEND: Referrer = {
  blocked: false,
  likeness: { firstName: 'Bob', lastName: 'Lee', email: null, firstSeenIP: null, lastSeenIP: null },
};

/**
 * What the outside looks like at a command: which code came, and whether its owner is there,
 * blocked or gone.
 */
const outside = fc.record({
  code: fc.constantFrom('none' as const, 'anns' as const, 'anns' as const, 'own' as const),
  referrer: fc.constantFrom(...[A_FRIEND, A_FRIEND, { ...A_FRIEND, blocked: true }, null]),
  program,
});

/**
 * As often as the account of the command has lapsed by then: every code was reserved behind the
 * newest lapse.
 */
let lapsed = 0;

/**
 * Whatever a command of this step may need from elsewhere. Now and then the pool is empty, or the
 * referrer was too fast.
 */
function provided(step: number, now: number): Provided {
  const code = step % 3 === 0 ? null : `TANK-${step}`;
  const reserved: ProvidedTankCode = { code, lapses: lapsed };
  const tankCodes = new Proxy<Record<string, ProvidedTankCode>>(
    {},
    {
      get: () => reserved,
      getOwnPropertyDescriptor: () => ({ configurable: true, value: reserved }),
    },
  );
  const ids = [...(step % 2 === 0 ? ['before-1', 'before-2', 'before-3'] : []), `referral-${step}`];
  const announced = List(
    ids.map((referralId) => ({
      referralId,
      account: `of ${referralId}`,
      person: ANN.person,
      at: now,
    })),
  );
  return {
    ...NOTHING_PROVIDED,
    tankCodes,
    announced: { [`referral-${step}`]: { announced, referredBy: null } },
  };
}

function contextOf(
  given: { code: string; referrer: Referrer | null; program: ReferralContext['program'] },
  step: number,
  now: number,
): ReferralContext {
  const party = given.code === 'own' ? partyOf(ACME, 'bob') : ANN;
  return {
    now,
    account: ACME.accountRef,
    referrer: given.referrer,
    program: given.program,
    referralId: `referral-${step}`,
    codeOwner:
      given.code === 'none'
        ? null
        : { code: 'CODE', programId: 'default', party, referredBy: null, formerReferrals: [] },
    rewardIds: { started: `started-${step}`, converted: `converted-${step}` },
    provided: provided(step, now),
  };
}

const subscription: fc.Arbitrary<Subscription> = fc.constantFrom(
  { status: 'TRIAL' },
  { status: 'FREE' },
  { status: 'CANCELLED' },
  PAID,
);

/** The n-th id that is there, round and round; now and then one that is not. */
function pick(ids: readonly string[], index: number): string {
  return index === 0 ? 'nothing' : (ids[index % ids.length] ?? 'nothing');
}
const isOpen = (state: AccountState): state is OpenAccount => state.status === 'open';
const rewardsOf = (state: AccountState): string[] =>
  isOpen(state) ? [...state.rewards.keys()].sort() : [];
/**
 * Those whose reward a moderation cancelled come up more often: they are what can be brought back.
 */
function referralsOf(state: AccountState): string[] {
  if (!isOpen(state)) return [];
  const denied = [...state.rewards.values()].flatMap(({ cancelledBy, referralId }) =>
    cancelledBy === 'MODERATION' ? [referralId ?? ''] : [],
  );
  const own = state.referral ? [state.referral.referralId] : [];
  return [
    'made-0',
    ...own,
    ...[...state.rewardsByReferral.keys()].sort(),
    ...denied,
    ...denied,
    ...denied,
  ];
}

/** A user id that is used again after its person was forgotten is another person's. */
const newPersonOf = ({ remains }: AccountState, userId: string) => {
  const first = personOf(ACME, userId);
  return remains.forgotten.has(first) ? personOf(ACME, `${userId}, again`) : first;
};

const sync = fc
  .record({
    subscription,
    currency: fc.option(fc.constantFrom('USD', 'EUR'), { nil: undefined }),
    outside,
  })
  .map(
    ({ outside: given, subscription: wanted, currency }): Intent =>
      ({ step, now }) =>
        syncAccount(wanted, { currency, context: contextOf(given, step, now) }),
  );

const upsert = fc
  .record({
    userId: user,
    changes: fc.record(
      {
        referable: fc.constantFrom(true, true, false, null),
        firstName: fc.constantFrom('Bob', null),
      },
      { requiredKeys: [] },
    ),
    code: fc.option(fc.constantFrom('BOB', 'bob', 'BOBBY'), { nil: undefined }),
    paymentProviderId: fc.option(fc.constantFrom('cus_1', 'cus_2'), { nil: undefined }),
    outside,
  })
  .map(
    ({ userId, changes, code, paymentProviderId, outside: given }): Intent =>
      ({ state, step, now }) =>
        upsertUser(userId, {
          newPerson: newPersonOf(state, userId),
          changes,
          paymentProviderId,
          codes: code === undefined ? [] : [{ code, programId: 'default' }],
          context: contextOf(given, step, now),
        }),
  );

const apply = fc
  .record({ userId: user, outside })
  .map(({ userId, outside: given }): Intent => ({ step, now }) => ({
    type: 'ApplyCode',
    userId,
    context: contextOf(given, step, now),
  }));

const block = fc
  .record({ type: fc.constantFrom('BlockUser' as const, 'UnblockUser' as const), userId: user })
  .map((command): Intent => ({ now }) => ({ ...command, now }));

const create = fc
  .record({
    userId: user,
    value,
    cancellable: fc.boolean(),
    redeemsAutomatically: fc.boolean(),
    in: fc.option(hours(-1, 30)),
    until: fc.option(hours(0, 60)),
  })
  .map(({ in: scheduledIn, until, ...members }): Intent => ({ step, now }) => ({
    type: 'CreateReward',
    rewardId: `manual-${step}`,
    ...members,
    name: null,
    description: null,
    now,
    dateScheduledFor: scheduledIn === null ? null : now + scheduledIn,
    dateExpires: until === null ? null : now + until,
  }));

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
  .map(({ index, unit: given, ...members }): Intent => ({ state, step, now }) => {
    const rewardId = pick(rewardsOf(state), index);
    const reward = isOpen(state) ? state.rewards.get(rewardId) : undefined;
    const own = (reward && unitOf(reward.value)) ?? 'CENTS';
    return {
      type: 'RedeemCredit',
      rewardId,
      redemptionId: `redemption-${step}`,
      ...members,
      unit: given ?? own,
      now,
    };
  });

const redeemAccount = fc.record({ amount, unit }).map((members): Intent => ({ step, now }) => ({
  type: 'RedeemAccountCredit',
  redemptionId: `redemption-${step}`,
  ...members,
  now,
}));

const grant = fc
  .record({
    referral: fc.nat(1),
    userId: user,
    terms: terms('CONVERTED').filter((given) => given !== null),
  })
  .map(({ referral, userId, terms: earned }): Intent => {
    const referralId = `made-${referral}`;
    return ({ step, now }) => ({
      type: 'GrantReferrerReward',
      referralId,
      rewardId: `${referralId}/referrer`,
      person: personOf(ACME, userId),
      terms: earned,
      programId: 'default',
      programVersion: 1,
      earnedAt: now,
      provided: provided(step, now),
    });
  });

/** The next step of a moderation, mostly: what is held is applied, what is not is prepared. */
const moderation = fc
  .record({
    step: fc.constantFrom(
      'next' as const,
      'next' as const,
      'next' as const,
      'prepare' as const,
      'apply' as const,
      'release' as const,
    ),
    moderation: fc.constantFrom('m-1', 'm-2'),
    referred: fc.option(status, { nil: undefined, freq: 6 }),
    referrer: fc.option(status, { nil: undefined, freq: 6 }),
    index: fc.nat(30),
  })
  .map(({ step, moderation: wanted, referred, referrer, index }): Intent => {
    return ({ state, step: number, now }) => {
      const referralId = pick(referralsOf(state), index);
      const hold = isOpen(state) ? state.holds.get(referralId) : undefined;
      const moderationId = step === 'next' ? (hold ?? wanted) : wanted;
      if (step === 'release') return { type: 'ReleaseModeration', moderationId, now };
      const isReferred = isOpen(state) && state.referral?.referralId === referralId;
      const side = isReferred ? ('referred' as const) : ('referrer' as const);
      const command = { moderationId, side, changes: [{ referralId, referred, referrer }], now };
      return step === 'apply' || (step === 'next' && hold !== undefined)
        ? {
            type: 'ApplyModeration',
            ...command,
            rewardIds: { [referralId]: `${referralId}/referred/${moderationId}` },
            provided: provided(number, now),
          }
        : { type: 'PrepareModeration', ...command };
    };
  });

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

const announcement = fc
  .record({
    type: fc.constantFrom('AnnounceReferral' as const, 'WithdrawReferral' as const),
    number: fc.nat(1),
    userId: user,
  })
  .map(({ type, number, userId }): Intent => ({ now }) => {
    const referralId = `made-${number}`;
    return type === 'AnnounceReferral'
      ? { type, referralId, account: `of ${referralId}`, person: personOf(ACME, userId), now }
      : { type, referralId, now };
  });

const flag = fc.nat(3).map((index): Intent => ({ state, now }) => ({
  type: 'FlagReferral',
  referralId: pick(referralsOf(state), index),
  now,
}));

const lapse = fc.nat(1).map((index): Intent => ({ now }) => ({
  type: 'LapseReservation',
  now,
  what:
    index === 0
      ? { kind: 'payment-provider-id', key: 'never', person: null }
      : { kind: 'tank-code', code: 'TANK', rewardId: 'never' },
}));

const intent: fc.Arbitrary<Intent> = fc.oneof(
  { weight: 1, arbitrary: lapse },
  { weight: 4, arbitrary: receive },
  { weight: 1, arbitrary: earnedByEvent },
  { weight: 1, arbitrary: adjust },
  { weight: 1, arbitrary: announcement },
  { weight: 1, arbitrary: flag },
  { weight: 3, arbitrary: sync },
  { weight: 4, arbitrary: upsert },
  { weight: 2, arbitrary: apply },
  { weight: 1, arbitrary: block },
  { weight: 4, arbitrary: create },
  { weight: 3, arbitrary: ofReward },
  { weight: 5, arbitrary: redeem },
  { weight: 4, arbitrary: redeemAccount },
  { weight: 4, arbitrary: grant },
  { weight: 8, arbitrary: moderation },
);

const arrival =
  (userId: string): Intent =>
  ({ state, step, now }) =>
    upsertUser(userId, {
      newPerson: newPersonOf(state, userId),
      context: contextOf({ code: 'none', referrer: A_FRIEND, program: DEFAULT }, step, now),
    });

/** A history starts with the account and users, mostly: otherwise most of it would be refused. */
export const history: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.constantFrom(0, 3, 3, 3),
    fc.tuple(sync, fc.constant(arrival('bob')), fc.constant(arrival('cat'))),
    fc.array(fc.record({ passedMs: fc.oneof(fc.constant(0), hours(0, 10)), intent }), {
      minLength: 5,
      maxLength: 50,
      size: 'max',
    }),
  )
  .map(([count, opening, rest]) => [
    ...opening.slice(0, count).map((first): Step => ({ passedMs: 0, intent: first })),
    ...rest,
  ]);

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
export const historyWithErasure = fc
  .tuple(history, fc.nat(60))
  .map(([steps, at]) => steps.toSpliced(at, 0, { passedMs: 0, intent: forget }));

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
    lapsed = state.remains.lapses;
    state = await run(make({ state, step, now }), step, now);
  }
}
