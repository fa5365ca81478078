// Over 5 s: each history is carried out twice, with its reactions and jobs.
import fc from 'fast-check';
import {
  AccountCommandEnvelope,
  ProviderEventEnvelope,
} from '../../src/command-handling/commands.js';
import type { AccountCommand } from '../../src/domain/account/account.decider.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import type { ProviderFact } from '../../src/domain/customer/customer.state.js';
import { programOf } from '../../src/operations/tenants/apply-program.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import { POLICIES } from '../../src/policies/policies.js';
import { LedgerDates } from '../../src/reacting/ledger-dates.js';
import { carryOutReactions, jobHandlers } from '../../src/reacting/reactions.js';
import type { Job } from '../../src/work-queue/jobs.js';
import { enterWorldWith } from '../support/clock-of-process.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { statementOfAccount } from '../support/operations.js';
import { runs } from '../support/property-runs.js';
import { aRequest, SharedLedger, type TestProcess } from './support/processes.js';

const ALIAS = 'demo';
const SCOPE = { tenant: ALIAS, mode: 'test' } as const;
const ACCOUNTS = ['a', 'b', 'c', 'd'] as const;
const BEGAN = Date.UTC(2026, 0, 31, 22);
const credit = (assignedCredit: number, terms: object) => ({
  type: 'CREDIT',
  unit: 'CENTS',
  assignedCredit,
  ...terms,
});
const PROGRAM = programOf({
  id: 'default',
  referredReward: credit(500, { delayDays: 3, validDays: 10 }),
  referrerReward: credit(900, { validDays: 20 }),
  refundDays: 10,
  fraud: { rate: 'pending' },
  rateLimit: { referrals: 1, minutes: 60 },
  eventRewards: [
    { key: 'buy', to: 'USER', reward: credit(7, { delayDays: 1, limit: { perDay: 2 } }) },
    { key: 'buy', to: 'REFERRER', reward: credit(3, { validDays: 5 }) },
  ],
});

type Step =
  | { readonly kind: 'wait'; readonly hours: number }
  | {
      readonly kind: 'join' | 'pay' | 'buy' | 'redeem' | 'invoice' | 'refund';
      readonly account: string;
    }
  | { readonly kind: 'refer'; readonly account: string; readonly by: string };

const account = fc.constantFrom(...ACCOUNTS);
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait'), hours: fc.nat(24 * 20) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('join', 'pay', 'buy', 'redeem', 'invoice', 'refund'),
        account,
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('refer'), account, by: account }) },
  ),
  { minLength: 8, maxLength: 40 },
);

/** Has everything that the histories are about, which drawn ones may lack. */
const EVERYTHING: readonly Step[] = [
  { kind: 'join', account: 'a' },
  { kind: 'refer', account: 'b', by: 'a' },
  { kind: 'buy', account: 'b' },
  { kind: 'wait', hours: 24 },
  { kind: 'invoice', account: 'b' },
  { kind: 'wait', hours: 24 },
  { kind: 'refund', account: 'b' },
  { kind: 'wait', hours: 24 * 20 },
];

/** A ledger in test mode with its reactions and its jobs; time passes when the test says so. */
class Ledger {
  readonly jobs = new Map<string, Job>();
  private real = BEGAN;
  /** Of the step; its ids are its own, whatever was done in between. */
  private step = 0;
  private ids = 0;
  private reacted = 0;

  private constructor(private readonly process: TestProcess) {}

  static async open(): Promise<{ readonly ledger: Ledger; readonly leave: () => void }> {
    const ledgers: Ledger[] = [];
    let before = 0;
    const leave = enterWorldWith({
      now: () => ledgers[0]?.real ?? BEGAN,
      uuid: () => ledgers[0]?.id() ?? uuidOf(++before),
    });
    const clock = (): number => ledgers[0]?.real ?? BEGAN;
    const shared = await SharedLedger.open(PROGRAM, new InMemoryEventLog(clock));
    const ledger = new Ledger(await shared.process({ clock }));
    ledgers.push(ledger);
    return { ledger, leave };
  }

  private id(): string {
    this.ids += 1;
    return uuidOf((this.step + 1) * 10_000 + this.ids);
  }

  async take(step: Exclude<Step, { kind: 'wait' }>): Promise<void> {
    this.step += 1;
    this.ids = 0;
    this.real += 1_000;
    for (const command of commandsOf(step)) await this.send(step.account, command);
    const fact = FACTS.get(step.kind);
    if (fact !== undefined) await this.tell(step.account, fact);
    await this.react();
    await this.runDue();
  }

  async wait(hours: number): Promise<void> {
    const until = this.real + hours * 3_600_000;
    for (;;) {
      const next = [...this.jobs.values()].sort((one, other) => one.runAt - other.runAt)[0];
      if (next === undefined || next.runAt > until) break;
      this.real = Math.max(this.real, next.runAt);
      await this.runDue();
    }
    this.real = until;
  }

  async advance(hours: number): Promise<void> {
    if (hours === 0) return;
    const to = { byMs: hours * 3_600_000 };
    const command = { type: 'MoveTestClock', to, now: this.real } as const;
    const moved = await this.process.tenantCommands.execute(ALIAS, command);
    expect('refused' in moved).toBe(false);
    await this.react();
    await this.runDue();
  }

  /** What is recorded of each account, and its statement, without times of recording. */
  async shown() {
    const { names, log, codec, tenants } = this.process;
    const all = [];
    for (const id of ACCOUNTS) {
      const stream = names.accountStream(SCOPE, names.accountRef(SCOPE, id));
      const events = (await this.process.recordedOf(stream)).map(({ event }) => event);
      if (events.length === 0) continue;
      const core = { log, codec, names, tenants };
      const { units } = await statementOfAccount(core, SCOPE, { account: id });
      const figures = units.map(({ lines, ...unit }) => ({
        ...unit,
        lines: lines.map(({ type, amount, balance, effectiveAt }) => ({
          type,
          amount,
          balance,
          effectiveAt,
        })),
      }));
      all.push({ id, events: events as readonly AccountEvent[], figures });
    }
    return { all, now: await tenants.now(SCOPE) };
  }

  private async send(id: string, command: AccountCommand): Promise<void> {
    const meta = { ...aRequest(), scope: SCOPE, commandId: `command-${this.step}-${command.type}` };
    const ref = this.process.names.accountRef(SCOPE, id);
    await this.process.commands.execute(new AccountCommandEnvelope(meta, ref, command));
  }

  /** The payment provider's clock is the real one. */
  private async tell(id: string, fact: ProviderFact): Promise<void> {
    await this.process.commands.execute(
      new ProviderEventEnvelope({ ...aRequest(), scope: SCOPE }, `cus_${id}`, `evt_${this.step}`, {
        provider: 'stripe',
        eventType: 'any',
        created: this.real,
        ids: { event: `evt_${this.step}`, invoice: `in_${id}`, payments: [] },
        subscription: null,
        left: [],
        fact,
      }),
    );
  }

  private readonly dates = new LedgerDates({
    tenants: { readFresh: (alias) => this.process.tenants.readFresh(alias) },
    move: async (_, offsetMs) => {
      for (const [key, job] of this.jobs) {
        const at = Number(job.payload['date']) - offsetMs;
        this.jobs.set(key, { ...job, runAt: Math.min(job.runAt, at) });
      }
    },
  });

  private async react(): Promise<void> {
    const { commands, streams, log, codec } = this.process;
    const add = async (job: Job): Promise<void> => void this.jobs.set(job.key, job);
    const carryOut = carryOutReactions(commands, { add }, streams, { dates: this.dates });
    for (;;) {
      const recorded = await log.readAll(undefined, 100_000);
      const fresh = recorded.slice(this.reacted);
      if (fresh.length === 0) return;
      this.reacted = recorded.length;
      for (const event of await decodeAny(codec)(fresh)) {
        if ('undecodable' in event) throw new Error(event.undecodable);
        for (const policy of POLICIES.filter(({ handles }) => handles.has(event.event.type)))
          for (const reaction of policy.react(event)) await carryOut(event, policy.name, reaction);
      }
    }
  }

  private async runDue(): Promise<void> {
    const { commands, moderations, erasures, tenants } = this.process;
    const handlers = jobHandlers({
      commands,
      moderations,
      erasures,
      tenants,
      repeatJobs: () => Promise.resolve(),
    });
    const due = [...this.jobs.values()].filter(({ runAt }) => runAt <= this.real);
    for (const { key, task, payload } of due.sort((one, other) => one.runAt - other.runAt)) {
      this.jobs.delete(key);
      await handlers[task](payload);
      await this.react();
    }
  }
}

const FACTS = new Map<Step['kind'], ProviderFact>([
  ['invoice', { kind: 'INVOICE_PAID', amountPaid: 900, currency: 'USD', interval: null }],
  ['refund', { kind: 'REFUNDED', amount: 900, amountRefunded: 900, currency: 'USD' }],
]);

const uuidOf = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

function commandsOf(step: Exclude<Step, { kind: 'wait' }>): readonly AccountCommand[] {
  const of = step.account;
  const currency = undefined;
  const sync = (codes: readonly string[], status: 'TRIAL' | 'PAID'): AccountCommand => {
    const billing = { value: 9, billingIntervalType: 'MONTH', billingIntervalValue: 1 } as const;
    const subscription = status === 'PAID' ? { status, ...billing } : { status };
    return { type: 'SyncAccount', accountId: of, subscription, currency, codes };
  };
  const join: AccountCommand = {
    type: 'UpsertUser',
    userId: 'u',
    changes: {},
    referralCode: `CODE${of}`,
    referralCodes: {},
    paymentProviderId: `cus_${of}`,
    codes: [],
  };
  const bought = { id: undefined, key: 'buy', fields: {}, dateTriggered: undefined };
  switch (step.kind) {
    case 'join':
      return [sync([], 'TRIAL'), join];
    case 'refer':
      return [sync([`CODE${step.by}`], 'TRIAL'), join];
    case 'pay':
      return [sync([], 'PAID')];
    case 'buy':
      return [
        {
          type: 'ReceiveUserEvents',
          userId: 'u',
          events: [bought, bought, bought],
          idempotencyKey: undefined,
        },
      ];
    case 'invoice':
    case 'refund':
      return [];
    case 'redeem':
      return [{ type: 'RedeemAccountCredit', amount: 3, unit: 'CENTS' }];
  }
}

/** Of a history, with the test clock or with waiting in place of each wait. */
async function playedOut(
  history: readonly Step[],
  pass: (ledger: Ledger, hours: number) => Promise<void>,
) {
  const { ledger, leave } = await Ledger.open();
  try {
    for (const step of history)
      if (step.kind === 'wait') await pass(ledger, step.hours);
      else await ledger.take(step);
    return await ledger.shown();
  } finally {
    leave();
  }
}

test('a clock that is moved by some time has the effects of that time', async () => {
  let [granted, expired, limited, refunded] = [0, 0, 0, 0];
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const moved = await playedOut(history, (ledger, hours) => ledger.advance(hours));
      const waited = await playedOut(history, (ledger, hours) => ledger.wait(hours));
      expect(moved).toEqual(waited);
      for (const { type } of moved.all.flatMap(({ events }) => events)) {
        granted += Number(type === 'RewardGranted');
        expired += Number(type === 'RewardExpired');
        limited += Number(type === 'RewardWithheld');
        refunded += Number(type === 'ReferralRefunded');
      }
    }),
    { numRuns: runs(40), examples: [[EVERYTHING]] },
  );
  // The histories reach what they are about.
  expect(
    Object.entries({ granted, expired, limited, refunded }).filter(([, count]) => count === 0),
  ).toEqual([]);
}, 180_000);
