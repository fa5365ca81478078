import fc from 'fast-check';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import type { UpsertUserRequest } from '../../src/domain/account/requests/upsert-user-request.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import {
  MODERATION_ACTIONS,
  type ModerationAction,
} from '../../src/domain/moderation/moderation.decider.js';
import type { ProgramDocument } from '../../src/domain/tenant/tenant.decider.js';
import { LedgerOfAccounts, type LedgerProcess } from './support/ledger-of-accounts.js';
import { runs } from '../support/property-runs.js';

/**
 * Over several accounts that refer each other, loops included: whatever is asked in whatever order,
 * repeatedly, at once, of two processes, however late the policies react, and whoever is forgotten
 * meanwhile.
 */
const ACCOUNTS = ['one', 'two', 'three'] as const;
const account = fc.constantFrom(...ACCOUNTS);
const user = fc.constantFrom('ann', 'bob');
const codeOf = (accountId: string, userId: string): string => `${userId}${accountId}`;
const code = fc.tuple(account, user).map(([accountId, userId]) => codeOf(accountId, userId));

const TANK = { type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 5 };
const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 10 };
const program: fc.Arbitrary<ProgramDocument> = fc.record({
  id: fc.constant('default'),
  conversion: fc.constantFrom(
    { on: 'PAID' },
    { on: 'EVENT', key: 'purchase', firstTimeOnly: true },
  ),
  referredReward: fc.constantFrom(
    CREDIT,
    { ...TANK, fuelTankCodes: ['A', 'B'] },
    { ...CREDIT, when: 'CONVERTED' },
  ),
  referrerReward: fc.constantFrom(
    CREDIT,
    { ...TANK, fuelTankCodes: ['A', 'C'] },
    { ...CREDIT, when: 'STARTED' },
  ),
  eventRewards: fc.constant([
    { key: 'purchase', to: 'USER', reward: { ...TANK, fuelTankCodes: ['A'], limit: { total: 1 } } },
    { key: 'visit', to: 'REFERRER', reward: { ...CREDIT, limit: { total: 2 } } },
  ]),
  moderation: fc.record({
    referred: fc.constantFrom('APPROVED', 'PENDING'),
    referrer: fc.constantFrom('APPROVED', 'PENDING'),
  }),
  fraud: fc.record({
    name: fc.constantFrom('ignore', 'pending'),
    rate: fc.constantFrom('ignore', 'deny'),
  }),
  rateLimit: fc.constantFrom({ referrals: 1 }, { referrals: 3 }),
});

interface Asked {
  readonly accountId: string;
  readonly request:
    AccountRequest | { readonly type: 'Moderate'; readonly action: ModerationAction };
}

const billing = { value: 9, billingIntervalType: 'MONTH', billingIntervalValue: 1 } as const;
const identify = fc
  .record({ accountId: account, userId: user, codes: fc.array(code, { maxLength: 2 }) })
  .map(({ accountId, userId, codes }): Asked => ({
    accountId,
    request: upsert(accountId, userId, codes),
  }));
const apply = fc
  .record({ accountId: account, userId: user, code })
  .map(({ accountId, ...members }): Asked => ({
    accountId,
    request: { type: 'ApplyCode', ...members },
  }));
const sync = fc
  .record({
    accountId: account,
    status: fc.constantFrom(
      'PAID' as const,
      'PAID' as const,
      'CANCELLED' as const,
      'TRIAL' as const,
    ),
    codes: fc.array(code, { maxLength: 1 }),
  })
  .map(({ accountId, status, codes }): Asked => ({
    accountId,
    request: {
      type: 'SyncAccount',
      accountId,
      subscription: { status, ...(status === 'PAID' ? billing : {}) },
      currency: undefined,
      codes,
    },
  }));
const happen = fc
  .record({
    accountId: account,
    userId: user,
    key: fc.constantFrom('purchase', 'visit'),
    batch: fc.constantFrom(undefined, 'the-same-batch'),
  })
  .map(({ accountId, userId, key, batch }): Asked => ({
    accountId,
    request: {
      type: 'ReceiveUserEvents',
      userId,
      events: [{ id: undefined, key, fields: {}, dateTriggered: undefined }],
      idempotencyKey: batch,
    },
  }));
const block = fc
  .record({
    accountId: account,
    userId: user,
    type: fc.constantFrom('BlockUser' as const, 'UnblockUser' as const),
  })
  .map(({ accountId, ...request }): Asked => ({ accountId, request }));
const moderate = fc
  .record({ accountId: account, action: fc.constantFrom(...MODERATION_ACTIONS) })
  .map(({ accountId, action }): Asked => ({ accountId, request: { type: 'Moderate', action } }));

const forget = fc
  .record({ accountId: account, userId: user, whole: fc.boolean() })
  .map(({ accountId, userId, whole }): Asked => ({
    accountId,
    request: whole
      ? { type: 'ForgetAccount', doNotTrack: false }
      : { type: 'ForgetUser', userId, doNotTrack: false, preserveEmptyAccount: true },
  }));
/** The code of before is never given again. */
const comeBack = fc
  .record({ accountId: account, userId: user, codes: fc.array(code, { maxLength: 2 }) })
  .map(({ accountId, userId, codes }): Asked => ({
    accountId,
    request: {
      ...upsert(accountId, userId, codes),
      referralCode: undefined,
      openAccount: accountId,
    },
  }));

function upsert(accountId: string, userId: string, codes: readonly string[]): UpsertUserRequest {
  return {
    type: 'UpsertUser',
    userId,
    changes: { firstName: 'Ann', lastName: 'Lee' },
    referralCode: codeOf(accountId, userId),
    referralCodes: {},
    paymentProviderId: undefined,
    codes,
  };
}

interface Step {
  readonly asked: Asked;
  /**
   * The n-th request before it is sent once more instead; undefined: it is a request of its own.
   */
  readonly repeats: number | undefined;
  /** Goes on without waiting for it. */
  readonly isAtOnce: boolean;
  readonly process: 0 | 1;
  readonly reacts: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  asked: fc.oneof(
    identify,
    identify,
    apply,
    apply,
    sync,
    sync,
    happen,
    happen,
    block,
    moderate,
    moderate,
    forget,
    comeBack,
  ),
  repeats: fc.option(fc.nat(5), { nil: undefined, freq: 4 }),
  isAtOnce: fc.boolean(),
  process: fc.constantFrom(0 as const, 1 as const),
  reacts: fc.boolean(),
});

const send = (
  process: LedgerProcess,
  { accountId, request }: Asked,
  key: string,
): Promise<unknown> =>
  request.type === 'Moderate'
    ? process.moderate(accountId, request.action, key)
    : process.send(accountId, request, key);

async function playOut(
  document: ProgramDocument,
  steps: readonly Step[],
): Promise<readonly Fact[]> {
  const ledger = await LedgerOfAccounts.open(document);
  const processes = [ledger.process(), ledger.process()] as const;
  for (const accountId of ACCOUNTS) {
    await send(
      processes[0],
      {
        accountId,
        request: {
          type: 'SyncAccount',
          accountId,
          subscription: { status: 'TRIAL' },
          currency: undefined,
          codes: [],
        },
      },
      `account ${accountId}`,
    );
    await send(
      processes[0],
      { accountId, request: upsert(accountId, 'ann', []) },
      `user ${accountId}`,
    );
  }
  let underWay: Promise<unknown>[] = [];
  for (const [index, { asked, repeats, isAtOnce, process, reacts }] of steps.entries()) {
    const again = repeats === undefined ? undefined : steps[index - repeats];
    const key = again && repeats !== undefined ? `step ${index - repeats}` : `step ${index}`;
    underWay.push(send(processes[process], again?.asked ?? asked, key));
    if (isAtOnce) continue;
    await Promise.all(underWay);
    underWay = [];
    if (reacts) await ledger.react(processes[1 - process] ?? processes[0]);
  }
  await Promise.all(underWay);
  await ledger.react(processes[0]);
  return ledger.facts();
}

interface Fact {
  readonly stream: string;
  readonly event: AccountEvent;
}

const ONCE: readonly AccountEvent['type'][] = [
  'AccountAttributed',
  'ReferralStarted',
  'ReferralConverted',
  'ReferralEnded',
];

/**
 * What may happen once only, as a text for each time that it happened. An account that was deleted
 * begins anew, but for its limits.
 */
function onceOnly({ stream, event, life }: Fact & { readonly life: number }): readonly string[] {
  if (event.type !== 'RewardGranted')
    return ONCE.includes(event.type) ? [`${event.type} ${stream} ${life}`] : [];
  const side = event.referralId === null ? [] : [`${event.source} of ${event.referralId}`];
  const tank = event.value.type === 'FUELTANK' ? [`the code ${event.value.fuelTankCode}`] : [];
  const limited = event.rule === 'eventRewards/USER/purchase' ? [`${event.rule} ${stream}`] : [];
  return [event.rewardId, ...side, ...tank, ...limited];
}

/** One after the other, the policies at once: what chance does not bring about in every run. */
const inTurn = (accountId: string, request: Asked['request']): Step => ({
  asked: { accountId, request },
  repeats: undefined,
  isAtOnce: false,
  process: 0,
  reacts: true,
});
const did = (key: string): Asked['request'] => ({
  type: 'ReceiveUserEvents',
  userId: 'ann',
  events: [{ id: undefined, key, fields: {}, dateTriggered: undefined }],
  idempotencyKey: undefined,
});
const A_STORY: readonly [ProgramDocument, Step[]] = [
  {
    id: 'default',
    conversion: { on: 'PAID' },
    fraud: { name: 'ignore', rate: 'ignore' },
    rateLimit: { referrals: 1 },
    referredReward: { ...TANK, fuelTankCodes: ['A', 'B'] },
    referrerReward: CREDIT,
    eventRewards: [
      {
        key: 'purchase',
        to: 'USER',
        reward: { ...TANK, fuelTankCodes: ['A'], limit: { total: 1 } },
      },
      { key: 'visit', to: 'REFERRER', reward: { ...CREDIT, limit: { total: 2 } } },
    ],
  },
  [
    inTurn('two', { type: 'ApplyCode', userId: 'ann', code: codeOf('one', 'ann') }),
    inTurn('three', { type: 'ApplyCode', userId: 'ann', code: codeOf('one', 'ann') }),
    inTurn('two', did('visit')),
    inTurn('two', did('purchase')),
    inTurn('two', {
      type: 'SyncAccount',
      accountId: 'two',
      subscription: { status: 'PAID', ...billing },
      currency: undefined,
      codes: [],
    }),
    inTurn('three', { type: 'Moderate', action: 'REFERRER_DENIED' }),
    inTurn('two', { type: 'ForgetAccount', doNotTrack: false }),
    inTurn('two', { ...upsert('two', 'ann', []), referralCode: undefined, openAccount: 'two' }),
  ],
];

function withLives(facts: readonly Fact[]): readonly (Fact & { readonly life: number })[] {
  const lives = new Map<string, number>();
  return facts.map((fact) => {
    const life = (lives.get(fact.stream) ?? 0) + (fact.event.type === 'AccountOpened' ? 1 : 0);
    lives.set(fact.stream, life);
    return { ...fact, life };
  });
}

it('an account is referred and converted at most once, each side is paid at most once for a referral, and no code is handed out twice', async () => {
  const reached = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      program,
      fc.array(step, { minLength: 8, maxLength: 30, size: 'max' }),
      async (document, steps) => {
        const facts = await playOut(document, steps);
        const once = withLives(facts).flatMap(onceOnly);
        expect(once.filter((key, index) => once.indexOf(key) !== index)).toEqual([]);
        for (const { event } of facts)
          reached.add(
            event.type === 'RewardWithheld' ? `${event.type} ${event.reason}` : event.type,
          );
      },
    ),
    { numRuns: runs(30), examples: [[...A_STORY]] },
  );
  // Else the property would say little.
  for (const type of [
    'ReferralConverted',
    'ReferralModerated',
    'ReferrerRewardEarnedByEvent',
    'ReferralFlagged',
    'RewardWithheld POOL_EMPTY',
    'ErasureCompleted',
  ])
    expect([...reached]).toContain(type);
}, 120_000);
