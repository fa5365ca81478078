// Over 5 s: each history is played twice, with every policy, under two programs.
import fc from 'fast-check';
import { carryOutReactions } from '../../src/reacting/reactions.js';
import { POLICIES } from '../../src/policies/policies.js';
import { MODERATION_ACTIONS } from '../../src/domain/moderation/moderation.decider.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import type { Position } from '../../src/event-log/event-log.js';
import { forecastProgram } from '../../src/operations/tenants/program-forecast.js';
import { aRequest, SharedLedger, type TestProcess } from '../command-handling/support/processes.js';
import { runs } from '../support/property-runs.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 10, 12);
const { scope } = aRequest();

type Step =
  | { readonly kind: 'joins'; readonly account: number; readonly by: number }
  | { readonly kind: 'pays' | 'returns'; readonly account: number; readonly order: number }
  | {
      readonly kind: 'buys';
      readonly account: number;
      readonly order: number;
      readonly total: number;
      readonly id?: string;
    }
  | { readonly kind: 'is blocked' | 'is unblocked'; readonly account: number }
  | { readonly kind: 'is moderated'; readonly account: number; readonly how: number }
  | { readonly kind: 'days pass'; readonly days: number };

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const account = fc.integer({ min: 0, max: 3 });
const order = fc.integer({ min: 0, max: 1 });
const steps = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom('pays', 'returns'), account, order }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('buys'),
        account,
        order,
        total: fc.constantFrom(10, 50, 90),
        id: maybe(fc.constantFrom('1', '2')),
      }),
    },
    fc.record({ kind: fc.constantFrom('is blocked', 'is unblocked'), account }),
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('is moderated'),
        account,
        how: fc.nat(MODERATION_ACTIONS.length - 1),
      }),
    },
    fc.record({ kind: fc.constant('days pass'), days: fc.integer({ min: 0, max: 2 }) }),
  ),
  { maxLength: 12 },
);
const joins = (by: number) => (one: number) => ({ kind: 'joins', account: one, by }) as const;
/** Everyone but the first account joins by the first one's code, or the second one's. */
const history = fc
  .tuple(steps, steps, steps, steps, fc.integer({ min: 0, max: 1 }))
  .map(([first, second, third, fourth, by]): Step[] => [
    joins(0)(0),
    ...first,
    joins(0)(1),
    ...second,
    joins(by)(2),
    ...third,
    joins(0)(3),
    ...fourth,
  ]);

const reward = fc.record(
  {
    type: fc.constant('CREDIT'),
    unit: fc.constantFrom('CENTS', 'POINTS'),
    assignedCredit: fc.integer({ min: 1, max: 500 }),
    delayDays: fc.integer({ min: 0, max: 3 }),
    limit: maybe(
      fc.record(
        { total: fc.integer({ min: 1, max: 3 }), perDay: fc.integer({ min: 1, max: 2 }) },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: ['type', 'unit', 'assignedCredit'] },
);
const condition = {
  key: fc.constant('purchase'),
  firstTimeOnly: fc.boolean(),
  minimum: maybe(fc.record({ field: fc.constant('total'), value: fc.constantFrom(40, 60) })),
  refund: maybe(fc.constant({ key: 'return', field: 'order' })),
};
const when = fc.constantFrom('STARTED', 'CONVERTED');
const side = fc.option(
  fc.tuple(reward, when).map(([terms, moment]) => ({ ...terms, when: moment })),
);
const status = fc.constantFrom('APPROVED', 'PENDING');
/** Undefined members are those that a file leaves out. */
const program: fc.Arbitrary<ProgramDocument> = fc
  .record({
    id: fc.constant('default'),
    referredReward: side,
    referrerReward: side,
    conversion: fc.oneof(
      fc.constant({ on: 'PAID' }),
      fc.record({ on: fc.constant('EVENT'), ...condition }),
    ),
    eventRewards: fc
      .tuple(
        fc.record({ ...condition, to: fc.constant('USER'), reward }),
        fc.record({ ...condition, to: fc.constant('REFERRER'), reward }),
        fc.constantFrom([], [0], [1], [0, 1]),
      )
      .map(([ofUser, ofReferrer, which]) => which.map((one) => [ofUser, ofReferrer][one])),
    moderation: fc.record({ referred: status, referrer: status }),
  })
  .map((members) => JSON.parse(JSON.stringify(members)) as ProgramDocument);

/** Plays the history under a program, one step after the other with all that follows from it. */
async function played(document: ProgramDocument, steps: readonly Step[]) {
  let now = START;
  const ledger = await SharedLedger.open(document);
  const process = await ledger.process({ clock: () => now });
  const { commands, streams, codec, log } = process;
  const carryOut = carryOutReactions(commands, { add: () => Promise.resolve() }, streams);
  let reacted: Position | undefined;
  const react = async (): Promise<void> => {
    for (;;) {
      const page = await log.readAll(reacted, 100);
      if (page.length === 0) return;
      for (const event of await decodeAny(codec)(page))
        for (const policy of POLICIES.filter(
          (one) => 'event' in event && one.handles.has(event.event.type),
        ))
          if ('event' in event)
            for (const reaction of policy.react(event))
              await carryOut(event, policy.name, reaction);
      reacted = page.at(-1)?.position;
    }
  };
  for (const one of steps) {
    now += one.kind === 'days pass' ? one.days * DAY_MS : 1;
    await take(process, one);
    await react();
  }
  return { process, now };
}

async function take(process: TestProcess, step: Step): Promise<void> {
  if (step.kind === 'days pass') return;
  const id = `account ${step.account}`;
  switch (step.kind) {
    case 'joins': {
      await process.sync(id, 'TRIAL', [`CODE${step.by}`]);
      await process.upsert(id, 'user', { referralCode: `CODE${step.account}` });
      return;
    }
    case 'pays':
      return void (await process.sync(id, 'PAID'));
    case 'returns':
    case 'buys': {
      const { kind, order: number } = step;
      const fields = { order: number, ...('total' in step && { total: step.total }) };
      const key = kind === 'buys' ? 'purchase' : 'return';
      const event = {
        id: 'id' in step ? step.id : undefined,
        key,
        fields,
        dateTriggered: undefined,
      };
      const batch = { events: [event], idempotencyKey: undefined };
      return void (await process.send(id, { type: 'ReceiveUserEvents', userId: 'user', ...batch }));
    }
    case 'is blocked':
    case 'is unblocked': {
      const type = step.kind === 'is blocked' ? 'BlockUser' : 'UnblockUser';
      return void (await process.send(id, { type, userId: 'user' }));
    }
    case 'is moderated': {
      const referral = await process.referralOf(id).catch(() => undefined);
      const action = MODERATION_ACTIONS[step.how];
      if (referral && action) await process.moderate({ [referral.referralId]: action });
    }
  }
}

/** What the log says that was granted from then on, by rule and unit. */
async function granted({ process }: { readonly process: TestProcess }, since: number) {
  const found = new Map<string, { count: number; amount: number }>();
  const { log, codec } = process;
  for (const { event } of await codec.decodeAll(await log.readAll(undefined, 100_000))) {
    if (event.type !== 'RewardGranted' || event.at < since) continue;
    const { rule, value } = event;
    if (value.type === 'FUELTANK') continue;
    const [unit, by] =
      value.type === 'CREDIT' ? [value.unit, value.assignedCredit] : ['%', value.discountPercent];
    const key = `${rule} ${unit}`;
    const { count, amount } = found.get(key) ?? { count: 0, amount: 0 };
    found.set(key, { count: count + 1, amount: amount + by });
  }
  return Object.fromEntries(found);
}

async function forecast(
  { process, now }: Awaited<ReturnType<typeof played>>,
  candidate: ProgramDocument,
  since: number,
) {
  const request = { candidate, since: new Date(since).toISOString() };
  const { rules } = await forecastProgram(process, scope, request, { now: now + 5 * DAY_MS });
  const figures = (of: 'live' | 'candidate') =>
    Object.fromEntries(
      rules.flatMap((row) => (row[of].count > 0 ? [[`${row.rule} ${row.unit}`, row[of]]] : [])),
    );
  return { live: figures('live'), candidate: figures('candidate') };
}

/** Compares the forecast with what was granted when the history was played under the program. */
async function compare(
  past: readonly Step[],
  live: ProgramDocument,
  candidate: ProgramDocument,
  since = START,
): Promise<void> {
  const [recorded, other] = [await played(live, past), await played(candidate, past)];
  const before = await granted(recorded, since);
  expect(await forecast(recorded, live, since)).toEqual({ live: before, candidate: before });
  expect(await forecast(recorded, candidate, since)).toEqual({
    live: before,
    candidate: await granted(other, since),
  });
}

it('a forecast equals what a program grants when the same history is played under it', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      program,
      program,
      fc.integer({ min: 0, max: 4 }),
      (past, live, candidate, days) => compare(past, live, candidate, START + days * DAY_MS),
    ),
    { numRuns: runs(60) },
  );
});

const CENTS = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
const BY_PURCHASE: ProgramDocument = {
  id: 'default',
  conversion: { on: 'EVENT', key: 'purchase', refund: { key: 'return', field: 'order' } },
  referredReward: { ...CENTS, when: 'CONVERTED' },
  moderation: { referred: 'PENDING', referrer: 'PENDING' },
  eventRewards: [{ key: 'purchase', to: 'REFERRER', reward: CENTS }],
};
const [pays, buys, returns] = (['pays', 'buys', 'returns'] as const).map((kind): Step => {
  const of = { account: 1, order: 1 };
  return kind === 'buys' ? { kind, ...of, total: 90 } : { kind, ...of };
}) as [Step, Step, Step];
const approved: Step = { kind: 'is moderated', account: 1, how: 0 };
const blocked: Step = { kind: 'is blocked', account: 0 };

it.each<[string, readonly Step[]]>([
  [
    'grants nothing for a conversion that was refunded before its approval',
    [buys, returns, approved],
  ],
  [
    'grants a conversion that another order did not refund',
    [buys, { kind: 'returns', account: 1, order: 0 }, approved],
  ],
  ['pays no referrer who was blocked before the conversion', [blocked, pays, buys]],
  ['pays a blocked referrer nothing for an event', [approved, blocked, buys]],
  [
    'counts an event that was sent twice once',
    [
      approved,
      { kind: 'buys', account: 1, order: 1, total: 90, id: 'a' },
      { kind: 'buys', account: 1, order: 1, total: 90, id: 'a' },
    ],
  ],
])('a forecast %s', async (_, past) => {
  const all = [joins(0)(0), joins(0)(1), ...past];
  await compare(all, BY_PURCHASE, { id: 'default' });
  await compare(all, { id: 'default' }, BY_PURCHASE);
});
