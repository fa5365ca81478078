// Over 5 s: a property over hundreds of courses of payments, faults and refunds.
import fc from 'fast-check';
import type { AccountCommandEnvelope, Commands } from '../../src/command-handling/commands.js';
import { decide } from '../domain/support/decisions.js';
import type { AccountEvent, ProviderCall } from '../../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
  type RewardState,
} from '../../src/domain/account/account.state.js';
import { applyCustomer } from '../../src/domain/account/provider/apply-customer.js';
import { duePushes } from '../../src/domain/account/provider/reward-push.js';
import { isBeingPushed } from '../../src/domain/account/rewards/reward-state.js';
import {
  evolve as evolveCustomer,
  initialState as unknownCustomer,
  pictureOf,
  type ProviderEventReceived,
} from '../../src/domain/customer/customer.state.js';
import { personal } from '../../src/domain/personal.js';
import { enterWorldWith } from '../support/clock-of-process.js';
import { AccountPushes } from '../../src/payments/outgoing/reward-push.js';
import { ProviderFailure, type ProviderCalls } from '../../src/payments/payment-provider.js';
import {
  accountAttributed,
  accountOpened,
  credit,
  discount,
  referralStarted,
  rewardGranted,
  userIdentified,
  paymentProviderIdSet,
} from '../support/account-events.js';
import { ACME, ANN, annStands, aProgram, BOB } from '../domain/support/account-scenario.js';
import { runs } from '../support/property-runs.js';

/**
 * Rewards on their way to the provider, between commands of the API, events of the provider in any
 * order, refunds, deaths of the process, other connections, and everything that a call may meet.
 */

const HOUR_MS = 3_600_000;
const BEGAN = 1_700_000_000_000;
const REWARDS = ['credit', 'off'] as const;
const EUROS = { ...credit(500), currency: 'EUR' } as const;

/** `revoked`: the key is refused, whatever it is used for. */
const FAULTS = [
  ...(['none', 'away', 'lost', 'kept', 'refused', 'revoked', 'dies', 'dies behind it'] as const),
];
type Fault = (typeof FAULTS)[number];
class Died extends Error {}

/** Keeps answers by key for a day, as the provider does. */
class FakeProvider {
  readonly made: { readonly rewardId: string; readonly amount: number; readonly id: string }[] = [];
  readonly kept = new Map<
    string,
    { readonly at: number; readonly body: string; readonly answer: string | ProviderFailure }
  >();

  constructor(
    private readonly clock: () => number,
    private readonly fault: () => Fault,
    /** Happens while a call is under way. */
    private readonly meanwhile: () => Promise<void>,
  ) {}

  readonly calls: Pick<ProviderCalls, 'subscriptionsOf' | 'discountsFor' | 'pay' | 'made'> = {
    subscriptionsOf: () => {
      const added = this.made.filter(({ amount }) => amount === 0).map(({ id }) => id);
      return Promise.resolve([{ id: 'sub_1', discounts: ['di_old', ...added] }]);
    },
    discountsFor: async (_, rewardId) => {
      const fault = this.fault();
      if (fault === 'dies') throw new Died();
      if (fault === 'revoked') throw new ProviderFailure('refused', 'revoked');
      return this.made
        .filter((one) => one.rewardId === rewardId && one.amount === 0)
        .map(({ id }) => ({ subscription: 'sub_1', hasEnded: false, reference: id }));
    },
    pay: async (call, rewardId) => {
      const answer = await this.pay(call, rewardId).finally(this.meanwhile);
      return answer;
    },
    made: async ({ kind }, rewardId) => {
      const fault = this.fault();
      if (fault === 'dies') throw new Died();
      if (fault === 'revoked') throw new ProviderFailure('refused', 'revoked');
      return this.made.find(
        (one) => one.rewardId === rewardId && one.amount > 0 === (kind === 'BALANCE_CREDIT'),
      )?.id;
    },
  };

  private pay(call: ProviderCall, rewardId: string): Promise<string> {
    const fault = this.fault();
    if (fault === 'dies') throw new Died();
    if (fault === 'revoked') throw new ProviderFailure('refused', 'revoked');
    if (fault === 'away') throw new ProviderFailure('unavailable', 'away');
    const known = this.kept.get(call.key);
    const isKept = known !== undefined && this.clock() - known.at < 24 * HOUR_MS;
    const body = JSON.stringify(call);
    if (isKept && known.body !== body) throw new ProviderFailure('refused', 'another body');
    if (!isKept) {
      const answer = this.answer(call, rewardId, fault);
      this.kept.set(call.key, { at: this.clock(), body, answer });
      if (fault === 'dies behind it') throw new Died();
      if (fault === 'lost') throw new ProviderFailure('unavailable', 'no answer');
      if (typeof answer !== 'string') throw answer;
      return Promise.resolve(answer);
    }
    if (typeof known.answer === 'string') return Promise.resolve(known.answer);
    const { kind, message } = known.answer;
    throw new ProviderFailure(kind, message, kind === 'failed');
  }

  private answer(call: ProviderCall, rewardId: string, fault: Fault): string | ProviderFailure {
    if (fault === 'kept') return new ProviderFailure('failed', 'failed');
    if (fault === 'refused') return new ProviderFailure('refused', 'refused');
    const id = `made_${this.made.length}`;
    const amount = call.kind === 'BALANCE_CREDIT' ? call.amount : 0;
    this.made.push({ rewardId, amount, id });
    return id;
  }
}

/** Another account of the provider, which has none of the customers. */
const missing = () =>
  Promise.reject(new ProviderFailure('refused', 'no such customer', false, true));
const ELSEWHERE: Pick<ProviderCalls, 'subscriptionsOf' | 'discountsFor' | 'pay' | 'made'> = {
  subscriptionsOf: missing,
  discountsFor: missing,
  pay: missing,
  made: missing,
};

const LINK = { account: 'referred', since: 0 };
const REFUND = 4;

const fact = (number: number): ProviderEventReceived => ({
  type: 'ProviderEventReceived',
  at: BEGAN,
  provider: 'stripe',
  eventType: 'any',
  eventRef: `event-${number}`,
  created: BEGAN + number * 1_000,
  ids: personal('customer', {
    event: `evt_${number}`,
    invoice: `in_${number === REFUND ? 1 : number}`,
    payments: [],
  }),
  refs: null,
  fact: FACTS[number] ?? PAID,
});
const PAID = { kind: 'INVOICE_PAID', amountPaid: 1999, currency: 'EUR', interval: null } as const;
const FACTS: Readonly<Record<number, ProviderEventReceived['fact']>> = {
  0: { kind: 'TRIAL' },
  3: { kind: 'CANCELLED' },
  [REFUND]: { kind: 'REFUNDED', amount: 1999, amountRefunded: 1999, currency: 'EUR' },
};

type Step =
  | {
      readonly kind: 'turn';
      readonly faults: readonly Fault[];
      readonly retriesParked: boolean;
      /** While its first call is under way. */
      readonly meanwhile?: readonly Small[];
    }
  | Small;
type Small =
  | { readonly kind: 'told'; readonly number: number }
  | { readonly kind: 'redeem'; readonly amount: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'refund' }
  /** `none`: the tenant is suspended or disconnected. */
  | { readonly kind: 'connection'; readonly to: 'own' | 'another' | 'none' }
  | { readonly kind: 'later'; readonly hours: number };

const small = (refunds: boolean): fc.Arbitrary<Small> =>
  fc.oneof(
    fc.record({ kind: fc.constant('told' as const), number: fc.nat(refunds ? REFUND : 3) }),
    fc.record({ kind: fc.constant('redeem' as const), amount: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ kind: fc.constant('cancel' as const) }),
    fc.record({
      kind: fc.constant('connection' as const),
      to: fc.constantFrom('own' as const, 'another' as const, 'none' as const),
    }),
    fc.record({ kind: fc.constant('later' as const), hours: fc.constantFrom(1, 30) }),
    ...(refunds ? [fc.record({ kind: fc.constant('refund' as const) })] : []),
  );
const step = (refunds: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('turn' as const),
        faults: fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }),
        retriesParked: fc.boolean(),
        meanwhile: fc.array(small(refunds), { maxLength: 2 }),
      }),
    },
    { weight: 1, arbitrary: small(refunds) },
  );

/**
 * One account with credit and a discount that the provider pays: for its own referral, or for one
 * that it made.
 */
class Course {
  now = BEGAN;
  /** Whether the refund of their referral was recorded. */
  isRefunded = false;
  /** The provider's events, by number. */
  readonly told = new Set<number>();
  readonly events: AccountEvent[];
  state: AccountState;
  private readonly before: readonly [number, AccountState];
  private customer = unknownCustomer;
  private faults: Fault[] = [];
  private meanwhile: readonly Small[] = [];
  private connection: 'own' | 'another' | 'none' = 'own';
  readonly provider = new FakeProvider(
    () => this.now,
    () => this.faults.shift() ?? 'none',
    async () => {
      const steps = this.meanwhile;
      this.meanwhile = [];
      for (const one of steps) await this.take(one);
    },
  );

  /** @param referralId of the rewards: `referral` is its own, `made` one of another account. */
  constructor(private readonly referralId: 'referral' | 'made' = 'referral') {
    const ofReferral = { payTo: 'provider', referralId } as const;
    const source = referralId === 'made' ? 'FRIEND_SIGNUP' : 'REFERRED';
    this.events = [
      accountOpened(ACME),
      userIdentified(ACME, 'bob'),
      accountAttributed('ANNLEE', ANN),
      referralStarted('referral', BOB, ANN),
      rewardGranted('credit', BOB, EUROS, ofReferral),
      rewardGranted('off', BOB, discount(10), { ...ofReferral, source }),
      paymentProviderIdSet(ACME, 'cus_1', BEGAN),
    ];
    this.state = this.events.reduce<AccountState>(evolve, initialState);
    this.before = [this.events.length, this.state];
  }

  private record(decision: ReturnType<typeof decide>): void {
    if (!('events' in decision)) return;
    this.isRefunded ||= decision.events.some(
      (event) =>
        (event.type === 'ReferralRefunded' || event.type === 'ReferrerSideRefunded') &&
        event.referralId === this.referralId,
    );
    this.events.push(...decision.events);
    this.state = decision.events.reduce(evolve, this.state);
    expect(this.usableInVain()).toEqual([]);
  }

  reward(rewardId: string): RewardState {
    const found = this.state.status === 'open' ? this.state.rewards.get(rewardId) : undefined;
    if (found === undefined) throw new Error('the reward is there');
    return found;
  }

  /** Whether anybody has any part of it. */
  isUsed(rewardId: string): boolean {
    const { redeemed, pushed } = this.reward(rewardId);
    return redeemed > 0 || pushed?.status === 'PUSHED' || (pushed?.done.length ?? 0) > 0;
  }

  /** Rewards of a refunded referral that can be spent, or pushed anew, and that nobody has. */
  private usableInVain(): readonly string[] {
    return REWARDS.filter(
      (id) =>
        this.isRefunded &&
        !this.isUsed(id) &&
        this.reward(id).dateCancelled === null &&
        !isBeingPushed(this.reward(id)),
    );
  }

  private readonly commands: Commands = {
    execute: (command) => {
      const { command: request } = command as unknown as AccountCommandEnvelope;
      const firstPaid = pictureOf(this.customer, LINK).firstPaid;
      if (request.type === 'StartRewardPush') {
        const decision = decide(this.state, { ...request, firstPaid, now: this.now });
        const starts =
          'events' in decision && decision.events.some(({ type }) => type === 'RewardPushStarted');
        expect(starts && this.isRefunded && !this.isUsed(request.rewardId)).toBe(false);
        this.record(decision);
      }
      if (request.type === 'RecordRewardPush')
        this.record(decide(this.state, { ...request, now: this.now }));
      return Promise.resolve({ kind: 'accepted', state: this.state } as never);
    },
  };

  async turn(
    faults: readonly Fault[],
    retriesParked: boolean,
    meanwhile: readonly Small[] = [],
  ): Promise<void> {
    if (this.connection === 'none') return;
    this.faults = [...faults];
    this.meanwhile = meanwhile;
    const pushes = new AccountPushes(
      {
        commands: this.commands,
        streams: {
          accounts: {
            load: () => Promise.resolve({ state: this.state } as never),
            forget: () => undefined,
          },
        },
        names: { accountStream: () => 'account' },
      },
      ACME,
      ACME.accountRef,
      {
        calls: (this.connection === 'own' ? this.provider.calls : ELSEWHERE) as ProviderCalls,
        keySince: 0,
        before: null,
      },
    );
    for (const reward of duePushes(this.state, { now: this.now, retriesParked }).rewards)
      await pushes.push(reward).catch((error: unknown) => {
        if (!(error instanceof ProviderFailure || error instanceof Died)) throw error;
      });
  }

  async take(taken: Step): Promise<void> {
    const { now } = this;
    if (taken.kind === 'turn') await this.turn(taken.faults, taken.retriesParked, taken.meanwhile);
    if (taken.kind === 'connection') this.connection = taken.to;
    if (taken.kind === 'refund' && this.referralId === 'made') {
      const { referralId } = this;
      this.record(decide(this.state, { type: 'CancelRefundedRewards', referralId, now }));
    }
    if (taken.kind === 'later') this.now += taken.hours * HOUR_MS;
    if (taken.kind === 'cancel')
      this.record(decide(this.state, { type: 'CancelReward', rewardId: 'credit', now }));
    if (taken.kind === 'redeem') {
      const redeemed = { rewardId: 'credit', unit: 'CENTS', redemptionId: 'own', now } as const;
      this.record(decide(this.state, { type: 'RedeemCredit', ...redeemed, amount: taken.amount }));
    }
    if (taken.kind === 'told') {
      this.told.add(taken.number);
      this.customer = evolveCustomer(this.customer, fact(taken.number));
      const picture = pictureOf(this.customer, LINK);
      const context = annStands({ now, program: aProgram({ refundDays: 30 }) });
      this.record(applyCustomer(this.state, { type: 'ApplyCustomer', picture, context }));
    }
  }

  /** @param from the log is one from before that; the grants are recorded again, now. */
  restore(from: 'any call' | 'the grants' = 'any call'): void {
    [this.events.length, this.state] = this.before;
    this.customer = unknownCustomer;
    this.told.clear();
    if (from === 'any call') return;
    const { now: at } = this;
    const again = this.events.map((event) =>
      event.type === 'RewardGranted' ? { ...event, at } : event,
    );
    this.events.splice(0, again.length, ...again);
    this.state = again.reduce<AccountState>(evolve, initialState);
  }

  /** The provider answers again, and operators look after what it refused. */
  async end(): Promise<void> {
    this.connection = 'own';
    for (let turns = 0; turns < 4; turns += 1) await this.turn([], true);
  }
}

/** @param body sees the time of the course. */
async function inItsTime(course: Course, body: () => Promise<void>): Promise<void> {
  const leave = enterWorldWith({
    now: () => course.now,
    elapsed: () => course.now,
    after: () => () => undefined,
  });
  try {
    await body();
  } finally {
    leave();
  }
}

it('each reward is paid once, whenever the log loses the end of its account and customer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step(false), { maxLength: 8 }),
      fc.constantFrom('any call' as const, 'the grants' as const),
      fc.array(small(false), { maxLength: 6 }),
      async (before, from, after) => {
        const course = new Course();
        await inItsTime(course, async () => {
          for (const taken of before) await course.take(taken);
          course.restore(from);
          for (const taken of after) await course.take(taken);
          await course.end();
        });
        const ids = course.provider.made.map(({ rewardId }) => rewardId);
        expect(ids).toEqual([...new Set(ids)]);
        expect(course.reward('off').pushed?.status).toBe('PUSHED');
      },
    ),
    { numRuns: runs(50) },
  );
});

it('each reward is paid once, the ledger redeems what the provider has, and a refund takes back the rewards that were not redeemed in any part, in whatever order all comes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('referral' as const, 'made' as const),
      fc.boolean().chain((refunds) => fc.array(step(refunds), { maxLength: 14 })),
      async (referralId, steps) => {
        const course = new Course(referralId);
        await inItsTime(course, async () => {
          for (const taken of steps) await course.take(taken);
          await course.end();
        });
        const { made } = course.provider;
        for (const rewardId of REWARDS) {
          const isCancelled = course.reward(rewardId).dateCancelled !== null;
          const ofIt = made.filter((one) => one.rewardId === rewardId);
          expect([rewardId, isCancelled, ofIt.length > 1]).toEqual([
            rewardId,
            course.isRefunded && !course.isUsed(rewardId),
            false,
          ]);
          if (isCancelled) expect(ofIt).toEqual([]);
          else expect(course.reward(rewardId).pushed?.status).toBe('PUSHED');
        }
        const redeemed = course.events.flatMap((event) =>
          event.type === 'CreditRedeemed' ? [event] : [],
        );
        const sum = redeemed.reduce((all, { amount }) => all + amount, 0);
        expect(sum).toBe(course.reward('credit').dateCancelled === null ? 500 : 0);
        expect(
          redeemed.flatMap(({ externalReference: id, amount }) => (id ? [[id.value, amount]] : [])),
        ).toEqual(
          made.flatMap(({ rewardId, id, amount }) => (rewardId === 'credit' ? [[id, amount]] : [])),
        );
        const conversions = course.events.filter(({ type }) => type === 'ReferralConverted');
        const isPaid = course.told.has(1) || course.told.has(2);
        expect(conversions).toHaveLength(isPaid ? 1 : 0);
      },
    ),
    { numRuns: runs(200) },
  );
});

it.each([
  [1, 'is repeated under its key, and paid', ['credit', 'off'], [false, false]],
  [30, 'whose key is forgotten is given up, and its reward cancelled', [], [true, true]],
] as const)(
  'behind a refund a call without an answer %d hours ago %s',
  async (hours, _, paid, ended) => {
    const course = new Course('made');
    await inItsTime(course, async () => {
      // A look, and a call, of each.
      await course.turn(['away', 'away', 'away', 'away'], false);
      await course.take({ kind: 'refund' });
      await course.take({ kind: 'later', hours });
      await course.turn([], false);
    });
    expect(course.provider.made.map(({ rewardId }) => rewardId)).toEqual(paid);
    expect(REWARDS.map((id) => course.reward(id).dateCancelled !== null)).toEqual(ended);
  },
);

it('credit whose answer was lost stays taken when its customer is gone and its key forgotten', async () => {
  const course = new Course();
  await inItsTime(course, async () => {
    // A look, then the call.
    await course.turn(['none', 'lost'], false);
    await course.take({ kind: 'connection', to: 'another' });
    await course.take({ kind: 'later', hours: 30 });
    for (const retriesParked of [false, true]) await course.turn([], retriesParked);
    await course.take({ kind: 'redeem', amount: 400 });
  });
  expect(course.reward('credit')).toMatchObject({
    redeemed: 0,
    pushed: { status: 'PARKED', mayBePaid: true },
  });
  expect(course.provider.made.map(({ rewardId }) => rewardId)).toContain('credit');
});
