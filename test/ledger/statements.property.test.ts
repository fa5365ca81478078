import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { decide, type AccountCommand } from '../../src/domain/account/account.decider.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import { personal } from '../../src/domain/personal.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { Position } from '../../src/event-log/event-log.js';
import {
  AccountPostings,
  LEDGER_ACCOUNTS,
  type Entry,
  type PostedEvent,
} from '../../src/bookkeeping/postings.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { anAccount, accountOpened, personOf, userIdentified } from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { statementOfAccount } from '../support/operations.js';
import { runs } from '../support/property-runs.js';

/**
 * Statements of many random accounts, against a fold that knows nothing of postings: sums over
 * rewards, by their dates.
 */

const DAY = 86_400_000;
const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const USERS = ['ann', 'bob'] as const;

type Step = { readonly afterDays: number } & (
  | {
      readonly do: 'give';
      readonly amount: number;
      readonly unit: string;
      readonly delay: number;
      readonly valid: number;
      readonly auto: boolean;
    }
  | {
      readonly do: 'refer';
      readonly amount: number;
      readonly unit: string;
      readonly delay: number;
      readonly auto: boolean;
    }
  | { readonly do: 'redeem' | 'adjust'; readonly amount: number; readonly unit: string }
  | { readonly do: 'cancel' | 'settle' | 'deny' | 'approve'; readonly which: number }
  | { readonly do: 'forget' }
);

const afterDays = fc.integer({ min: 0, max: 12 });
const unit = fc.constantFrom('CENTS', 'cents', 'Points');
const amount = fc.integer({ min: 1, max: 300 });
// 0: none.
const days = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }));
const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      afterDays,
      do: fc.constant('give' as const),
      amount,
      unit,
      delay: days,
      valid: days,
      auto: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      afterDays,
      do: fc.constant('refer' as const),
      amount,
      unit,
      delay: days,
      auto: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ afterDays, do: fc.constant('redeem' as const), amount, unit }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      afterDays,
      do: fc.constant('adjust' as const),
      amount: fc.integer({ min: -200, max: 200 }),
      unit,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      afterDays,
      do: fc.constantFrom(
        'cancel' as const,
        'settle' as const,
        'deny' as const,
        'approve' as const,
      ),
      which: fc.nat(9),
    }),
  },
  { weight: 1, arbitrary: fc.record({ afterDays, do: fc.constant('forget' as const) }) },
);

interface Recorded {
  readonly event: AccountEvent;
  readonly recordedAt: number;
  readonly position: Position;
}

/** One account that random commands are sent to, through the decider, each at its time. */
class RandomAccount {
  state: AccountState = initialState;
  readonly history: Recorded[] = [];
  /** Where an append ended: the positions that clients get. */
  readonly ends: Position[] = [];
  private readonly referrals: string[] = [];

  constructor(readonly accountId: string) {}

  get account() {
    return anAccount(this.accountId);
  }

  begin(): AccountEvent[] {
    return this.fold([
      accountOpened(this.account, { at: 0 }),
      ...USERS.map((user) => userIdentified(this.account, user, {}, 0)),
    ]);
  }

  take(step: Step, now: number): AccountEvent[] {
    return this.commandsOf(step, now).flatMap((command) => {
      const decision = decide(this.state, command);
      return 'events' in decision ? this.fold(decision.events) : [];
    });
  }

  private fold(events: readonly AccountEvent[]): AccountEvent[] {
    this.state = events.reduce(evolve, this.state);
    return [...events];
  }

  private commandsOf(step: Step, now: number): AccountCommand[] {
    const rewardId = randomUUID();
    switch (step.do) {
      case 'give': {
        const dateScheduledFor = step.delay > 0 ? now + step.delay * DAY : null;
        const dateExpires = step.valid > 0 ? (dateScheduledFor ?? now) + step.valid * DAY : null;
        const value = {
          type: 'CREDIT' as const,
          unit: step.unit,
          assignedCredit: step.amount,
          currency: null,
        };
        const texts = { name: null, description: null, cancellable: true };
        const userId = USERS[step.amount % 2] ?? 'ann';
        return [
          {
            type: 'CreateReward',
            userId,
            rewardId,
            value,
            ...texts,
            dateScheduledFor,
            dateExpires,
            redeemsAutomatically: step.auto,
            now,
          },
        ];
      }
      case 'refer': {
        const referralId = randomUUID();
        this.referrals.push(referralId);
        const value = {
          type: 'CREDIT' as const,
          unit: step.unit,
          assignedCredit: step.amount,
          currency: null,
        };
        const texts = {
          name: null,
          description: null,
          cancellable: true,
          limit: null,
          when: 'CONVERTED' as const,
        };
        const terms = {
          ...texts,
          value,
          validDays: null,
          delayDays: step.delay,
          redeemsAutomatically: step.auto,
        };
        const program = { programId: 'default', programVersion: 1, provided: NOTHING_PROVIDED };
        return [
          {
            type: 'GrantReferrerReward',
            referralId,
            rewardId,
            person: personOf(this.account, 'ann'),
            terms,
            ...program,
            earnedAt: now,
          },
        ];
      }
      case 'redeem':
        return [
          {
            type: 'RedeemAccountCredit',
            amount: step.amount,
            unit: step.unit,
            redemptionId: rewardId,
            now,
          },
        ];
      case 'adjust': {
        const staff = { approvedBy: personal('staff', 'bo'), by: personal('staff', 'al') };
        const what = { userId: 'ann', unit: step.unit, amount: step.amount, reason: 'a test' };
        return [{ type: 'AdjustCredit', ...what, ...staff, rewardId, redemptionId: rewardId, now }];
      }
      case 'cancel':
      case 'settle': {
        const known = this.history.flatMap(({ event }) =>
          event.type === 'RewardGranted' ? [event.rewardId] : [],
        );
        const which = known[step.which % Math.max(1, known.length)];
        return which === undefined
          ? []
          : [
              {
                type: step.do === 'cancel' ? 'CancelReward' : 'SettleReward',
                rewardId: which,
                now,
              },
            ];
      }
      case 'deny':
      case 'approve': {
        const referralId = this.referrals[step.which % Math.max(1, this.referrals.length)];
        if (referralId === undefined) return [];
        const changes = [
          {
            referralId,
            referred: undefined,
            referrer: step.do === 'deny' ? ('DENIED' as const) : ('APPROVED' as const),
          },
        ];
        const moderation = { moderationId: rewardId, side: 'referrer' as const, changes, now };
        return [
          { type: 'PrepareModeration', ...moderation },
          { type: 'ApplyModeration', ...moderation, rewardIds: {}, provided: NOTHING_PROVIDED },
        ];
      }
      case 'forget':
        return [
          {
            type: 'ForgetUser',
            userId: 'bob',
            erasureId: randomUUID(),
            suppressed: null,
            preserveEmptyAccount: true,
            customer: null,
            now,
          },
        ];
    }
  }
}

/** What the account may spend: by dates and sums alone. */
function independently(history: readonly Recorded[], clock: number): Record<string, number> {
  const rewards = new Map<
    string,
    {
      left: number;
      unit: string;
      person: string;
      from: number;
      until: number;
      auto: boolean;
      cancelled: boolean;
    }
  >();
  const gone = new Set<string>();
  for (const { event } of history) {
    const reward =
      'rewardId' in event && event.rewardId !== null ? rewards.get(event.rewardId) : undefined;
    if (event.type === 'RewardGranted' && event.value.type === 'CREDIT') {
      const { value, person, dateScheduledFor, dateExpires, redeemsAutomatically: auto } = event;
      const dates = { from: dateScheduledFor ?? -Infinity, until: dateExpires ?? Infinity };
      rewards.set(event.rewardId, {
        left: value.assignedCredit,
        unit: value.unit.toLowerCase(),
        person,
        ...dates,
        auto,
        cancelled: false,
      });
    }
    if (event.type === 'CreditRedeemed' && reward) reward.left -= event.amount;
    if (event.type === 'RewardCancelled' && reward) reward.cancelled = true;
    if (event.type === 'RewardRestored' && reward) reward.cancelled = false;
    if (event.type === 'ErasureRequested') for (const person of event.persons) gone.add(person);
  }
  const sums: Record<string, number> = {};
  for (const { left, unit: key, person, from, until, auto, cancelled } of rewards.values()) {
    const counts = !gone.has(person) && !cancelled && !auto && from <= clock && clock < until;
    sums[key] = (sums[key] ?? 0) + (counts ? left : 0);
  }
  return sums;
}

let time = Date.UTC(2026, 0, 1);
const log = new InMemoryEventLog(() => time);
const core = {
  log,
  codec: new EventCodec(new InMemorySubjectKeys(true)),
  names: new KeyedNames(Buffer.alloc(32, 7)),
};
const accounts: RandomAccount[] = [];
const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
const choose = fc
  .sample(fc.noBias(fc.nat(999_999)), { numRuns: 6_000, seed })
  .map((part) => part / 1_000_000);
let chosen = 0;
const chance = (): number => choose[(chosen += 1) % choose.length] ?? 0;

async function append(account: RandomAccount, events: readonly AccountEvent[]): Promise<void> {
  if (events.length === 0) return;
  const stream = core.names.accountStream(SCOPE, core.names.accountRef(SCOPE, account.accountId));
  const actor = { kind: 'api-key' as const, id: 'live-1' };
  const envelope = {
    ...SCOPE,
    correlationId: 'c',
    causationId: 'c',
    commandId: randomUUID(),
    actor,
    idempotency: null,
  };
  const ids = events.map(() => randomUUID());
  const expected = account.history.length === 0 ? 'no-stream' : BigInt(account.history.length - 1);
  const result = await log.append(stream, expected, await core.codec.encode(events, envelope, ids));
  if (result.kind === 'conflict') throw new Error('nobody else writes here');
  const head = Number(result.position.slice(2));
  account.history.push(
    ...events.map((event, index) => ({
      event,
      recordedAt: time,
      position: `m-${head - events.length + 1 + index}`,
    })),
  );
  account.ends.push(result.position);
}

beforeAll(async () => {
  const plans = fc.sample(fc.array(aStep, { minLength: 6, maxLength: 14 }), {
    numRuns: runs(400),
    seed,
  });
  for (const index of plans.keys()) {
    const account = new RandomAccount(`account-${index}`);
    accounts.push(account);
    await append(account, account.begin());
  }
  // Everybody takes a step before anybody takes the next one: accounts lie mixed in the log.
  for (let round = 0; round < 14; round++) {
    for (const [index, account] of accounts.entries()) {
      const step = plans[index]?.[round];
      if (!step) continue;
      time += 1 + step.afterDays * 60_000;
      await append(account, account.take(step, time));
    }
  }
}, 60_000);

const lower = (
  units: readonly { readonly unit: string; readonly closing: number }[],
): Record<string, number> =>
  Object.fromEntries(units.map(({ unit: spelled, closing }) => [spelled.toLowerCase(), closing]));

test('accounts at random positions agree with an independent fold', async () => {
  let lines = 0;
  for (const account of accounts) {
    const position = account.ends[Math.floor(chance() * account.ends.length)] ?? '';
    const upTo = account.history.filter(
      (recorded) => log.compare(recorded.position, position) <= 0,
    );
    const statement = await statementOfAccount(
      core,
      SCOPE,
      { accountId: account.accountId, position },
      time,
    );
    const wanted = independently(upTo, upTo.at(-1)?.recordedAt ?? 0);
    expect({ seed, account: account.accountId, position, units: lower(statement.units) }).toEqual({
      seed,
      account: account.accountId,
      position,
      units: wanted,
    });
    for (const { opening, closing, lines: shown } of statement.units) {
      lines += shown.length;
      expect(opening + shown.reduce((sum, line) => sum + line.amount, 0)).toBe(closing);
      expect(shown.at(-1)?.balance ?? closing).toBe(closing);
    }
  }
  expect(lines).toBeGreaterThan(2 * accounts.length);
}, 60_000);

test('at any time due dates count before they are recorded, periods join, and the same question gives the same bytes', async () => {
  const start = Date.UTC(2026, 0, 1);
  for (const account of accounts.slice(0, 300)) {
    const [first = start, middle = start, last = start] = [chance(), chance(), chance()]
      .map((part) => start + Math.floor(part * (time - start)))
      .sort((a, b) => a - b);
    const iso = (at: number): string => new Date(at).toISOString();
    const ask = (from: number, to: number) =>
      statementOfAccount(
        core,
        SCOPE,
        { accountId: account.accountId, from: iso(from), to: iso(to) },
        time,
      );
    const [before, after] = [
      await ask(first, middle),
      await ask(middle + 1, Math.max(middle + 1, last)),
    ];
    for (const [at, balance] of [
      [
        first - 1,
        Object.fromEntries(
          before.units.map(({ unit: spelled, opening }) => [spelled.toLowerCase(), opening]),
        ),
      ],
      [middle, lower(before.units)],
      [Math.max(middle + 1, last), lower(after.units)],
    ] as const) {
      const known = independently(
        account.history.filter(({ recordedAt }) => recordedAt <= at),
        at,
      );
      for (const [key, said] of Object.entries(balance))
        expect({ seed, at, [key]: said }).toEqual({ seed, at, [key]: known[key] ?? 0 });
    }
    for (const { unit: spelled, opening } of after.units)
      expect(opening).toBe(lower(before.units)[spelled.toLowerCase()] ?? 0);
    expect(JSON.stringify(await ask(first, middle))).toBe(JSON.stringify(before));
  }
}, 60_000);

test('debits equal credits in every unit, and no ledger account is ever negative', () => {
  for (const { history } of accounts) {
    const postings = new AccountPostings();
    const entries = history.map(({ event, ...rest }): Entry => ({
      ...rest,
      event: event as PostedEvent,
      eventId: rest.position,
      actor: 'system:test',
    }));
    const posted = [
      ...entries.filter(({ event }) => 'rewardId' in event || 'persons' in event),
    ].flatMap((entry) => postings.post(entry));
    const all = [...posted, ...postings.settle(time)];
    const assigned = history.reduce(
      (sum, { event }) =>
        sum +
        (event.type === 'RewardGranted' && event.value.type === 'CREDIT'
          ? event.value.assignedCredit
          : 0),
      0,
    );
    const standing = Object.fromEntries(LEDGER_ACCOUNTS.map((name) => [name, 0]));
    for (const { debit, credit, amount: moved } of all) {
      expect(moved).toBeGreaterThan(0);
      standing[debit] = (standing[debit] ?? 0) - moved;
      standing[credit] = (standing[credit] ?? 0) + moved;
    }
    const { programme, ...others } = standing;
    expect(programme).toBe(0 - assigned);
    expect(Object.values(others).reduce((sum, value) => sum + value, 0)).toBe(assigned);
    expect(Object.values(others).every((value) => value >= 0)).toBe(true);
  }
});
