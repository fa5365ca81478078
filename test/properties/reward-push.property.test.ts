import fc from 'fast-check';
import type { AccountCommandEnvelope, Commands } from '../../src/command-handling/commands.js';
import { decide } from '../../src/domain/account/account.decider.js';
import type { AccountEvent, ProviderCall } from '../../src/domain/account/account.events.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { applyCustomer } from '../../src/domain/account/apply-customer.js';
import { duePushes } from '../../src/domain/account/reward-push.js';
import {
  evolve as evolveCustomer,
  initialState as unknownCustomer,
  pictureOf,
  type CustomerEvent,
} from '../../src/domain/customer/customer.state.js';
import { personal } from '../../src/domain/personal.js';
import { enterWorld } from '../../src/foundation/world.js';
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
} from '../support/account-events.js';
import { ACME, ANN, annStands, BOB } from '../domain/support/account-scenario.js';
import { runs } from '../support/property-runs.js';

/**
 * Rewards on their way to the provider, between commands of the API, events of the provider in any
 * order, deaths of the process, and everything that a call may meet.
 */

const HOUR_MS = 3_600_000;
const BEGAN = 1_700_000_000_000;
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
    { readonly at: number; readonly answer: string | ProviderFailure }
  >();

  constructor(
    private readonly clock: () => number,
    private readonly fault: () => Fault,
  ) {}

  readonly calls: Pick<ProviderCalls, 'subscriptionsOf' | 'pay' | 'made'> = {
    subscriptionsOf: () => Promise.resolve([{ id: 'sub_1', discounts: ['di_old'] }]),
    pay: (call, rewardId) => this.pay(call, rewardId),
    made: async (_, rewardId) => {
      if (this.fault() === 'revoked') throw new ProviderFailure('refused', 'revoked');
      return this.made.find((one) => one.rewardId === rewardId)?.id;
    },
  };

  private pay(call: ProviderCall, rewardId: string): Promise<string> {
    const fault = this.fault();
    if (fault === 'dies') throw new Died();
    if (fault === 'revoked') throw new ProviderFailure('refused', 'revoked');
    if (fault === 'away') throw new ProviderFailure('unavailable', 'away');
    const known = this.kept.get(call.key);
    const isKept = known !== undefined && this.clock() - known.at < 24 * HOUR_MS;
    if (!isKept) {
      const answer = this.answer(call, rewardId, fault);
      this.kept.set(call.key, { at: this.clock(), answer });
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

const fact = (number: number): CustomerEvent => ({
  type: 'ProviderEventReceived',
  at: BEGAN,
  provider: 'stripe',
  eventType: 'any',
  eventRef: `event-${number}`,
  created: BEGAN + number * 1_000,
  ids: personal('customer', { event: `evt_${number}`, invoice: `in_${number}`, payments: [] }),
  fact:
    number === 0
      ? { kind: 'TRIAL' }
      : number === 3
        ? { kind: 'CANCELLED' }
        : { kind: 'INVOICE_PAID', amountPaid: 1999, currency: 'EUR', interval: null },
});

type Step =
  | { readonly kind: 'turn'; readonly faults: readonly Fault[]; readonly retriesParked: boolean }
  | { readonly kind: 'told'; readonly number: number }
  | { readonly kind: 'redeem'; readonly amount: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'later'; readonly hours: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      faults: fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }),
      retriesParked: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant('told' as const), number: fc.nat(3) }),
  fc.record({ kind: fc.constant('redeem' as const), amount: fc.integer({ min: 1, max: 400 }) }),
  fc.record({ kind: fc.constant('cancel' as const) }),
  fc.record({ kind: fc.constant('later' as const), hours: fc.constantFrom(1, 30) }),
);

/** One account with credit and a discount that the provider pays. */
class Course {
  now = BEGAN;
  readonly events: AccountEvent[] = [
    accountOpened(ACME),
    userIdentified(ACME, 'bob'),
    accountAttributed('ANNLEE', ANN),
    referralStarted('referral', BOB, ANN),
    rewardGranted('credit', BOB, EUROS, { payTo: 'provider' }),
    rewardGranted('off', BOB, discount(10), { payTo: 'provider', source: 'REFERRED' }),
    {
      type: 'PaymentProviderIdSet',
      at: BEGAN,
      paymentProviderId: personal(ACME.accountRef, 'cus_1'),
    },
  ];
  state: AccountState = this.events.reduce<AccountState>(evolve, initialState);
  private readonly before = [this.events.length, this.state] as const;
  private customer = unknownCustomer;
  private faults: Fault[] = [];
  readonly provider = new FakeProvider(
    () => this.now,
    () => this.faults.shift() ?? 'none',
  );

  private record(decision: ReturnType<typeof decide>): void {
    if (!('events' in decision)) return;
    this.events.push(...decision.events);
    this.state = decision.events.reduce(evolve, this.state);
  }

  private readonly commands: Commands = {
    execute: (command) => {
      const { request } = command as unknown as AccountCommandEnvelope;
      const firstPaid = pictureOf(this.customer, 0).firstPaid;
      if (request.type === 'StartRewardPush')
        this.record(decide(this.state, { ...request, firstPaid, now: this.now }));
      if (request.type === 'RecordRewardPush')
        this.record(decide(this.state, { ...request, now: this.now }));
      return Promise.resolve({ kind: 'accepted', state: this.state } as never);
    },
  };

  async turn(faults: readonly Fault[], retriesParked: boolean): Promise<void> {
    this.faults = [...faults];
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
      this.provider.calls as ProviderCalls,
    );
    for (const reward of duePushes(this.state, { now: this.now, retriesParked }).rewards)
      await pushes.push(reward).catch((error: unknown) => {
        if (!(error instanceof ProviderFailure || error instanceof Died)) throw error;
      });
  }

  async take(taken: Step): Promise<void> {
    const { now } = this;
    if (taken.kind === 'turn') await this.turn(taken.faults, taken.retriesParked);
    if (taken.kind === 'later') this.now += taken.hours * HOUR_MS;
    if (taken.kind === 'cancel')
      this.record(decide(this.state, { type: 'CancelReward', rewardId: 'credit', now }));
    if (taken.kind === 'redeem') {
      const redeemed = { rewardId: 'credit', unit: 'CENTS', redemptionId: 'own', now } as const;
      this.record(decide(this.state, { type: 'RedeemCredit', ...redeemed, amount: taken.amount }));
    }
    if (taken.kind === 'told') {
      this.customer = evolveCustomer(this.customer, fact(taken.number));
      const picture = pictureOf(this.customer, 0);
      const context = annStands({ now });
      this.record(applyCustomer(this.state, { type: 'ApplyCustomer', picture, context }));
    }
  }

  /** The log is one from before any call. */
  restore(): void {
    [this.events.length, this.state] = this.before;
  }

  /** The provider answers again, and operators look after what it refused. */
  async end(): Promise<void> {
    for (let turns = 0; turns < 4; turns += 1) await this.turn([], true);
  }
}

/** @param body sees the time of the course. */
async function inItsTime(course: Course, body: () => Promise<void>): Promise<void> {
  const leave = enterWorld({
    now: () => course.now,
    elapsed: () => course.now,
    after: () => () => undefined,
    uuid: () => 'id',
    bytes: (length) => Buffer.alloc(length),
    below: () => 0,
  });
  try {
    await body();
  } finally {
    leave();
  }
}

it('what was paid before a log that was restored later than the provider knows keys, is found', async () => {
  const course = new Course();
  await inItsTime(course, async () => {
    await course.end();
    course.restore();
    await course.take({ kind: 'later', hours: 30 });
    await course.end();
  });
  expect(course.provider.made.map(({ rewardId }) => rewardId)).toEqual(['credit', 'off']);
  const redeemed = course.events.filter(({ type }) => type === 'CreditRedeemed');
  expect(redeemed).toMatchObject([{ amount: 500, externalReference: { value: 'made_0' } }]);
});

it('credit whose call was lost stays taken while a key without rights is refused', async () => {
  const course = new Course();
  await inItsTime(course, async () => {
    await course.turn(['lost'], false);
    await course.turn(['revoked', 'revoked'], false);
    await course.take({ kind: 'redeem', amount: 400 });
    await course.end();
  });
  const redeemed = course.events.filter(({ type }) => type === 'CreditRedeemed');
  expect(redeemed).toMatchObject([{ amount: 500, externalReference: { value: 'made_0' } }]);
});

it('each reward is paid once, and the ledger redeems what the provider has, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const course = new Course();
      await inItsTime(course, async () => {
        for (const taken of steps) await course.take(taken);
        await course.end();
      });
      const { made } = course.provider;
      const ids = made.map(({ rewardId }) => rewardId);
      expect(ids).toEqual([...new Set(ids)]);
      const redeemed = course.events.flatMap((event) =>
        event.type === 'CreditRedeemed' ? [event] : [],
      );
      const paid = redeemed.filter(({ externalReference }) => externalReference !== undefined);
      const atProvider = made.filter(({ rewardId }) => rewardId === 'credit');
      expect(
        paid.map(({ amount, externalReference }) => [externalReference?.value, amount]),
      ).toEqual(atProvider.map(({ id, amount }) => [id, amount]));
      expect(redeemed.reduce((sum, { amount }) => sum + amount, 0)).toBe(500);
      expect(ids).toContain('off');
      const conversions = course.events.filter(({ type }) => type === 'ReferralConverted');
      const isPaid = steps.some((one) => one.kind === 'told' && [1, 2].includes(one.number));
      expect(conversions).toHaveLength(isPaid ? 1 : 0);
    }),
    { numRuns: runs(300) },
  );
});
