import { randomUUID } from 'node:crypto';
import { openStreams } from '../../src/command-handling/streams.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { EventCodec } from '../../src/event-log/codec.js';
import {
  accountHistory,
  EVENTS_SHOWN_MAX,
  type HistoryRequest,
} from '../../src/operations/accounts/account-history.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { REFERRED_RULE } from '../../src/domain/program.js';
import {
  accountOpened,
  anAccount,
  credit,
  creditRedeemed,
  partyOf,
  rewardGranted,
  rewardWithheld,
  subscriptionChanged,
  userIdentified,
} from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { done } from '../support/operations.js';

/** The page of an account over a log in memory: its rewards, its timeline by kind, and why not. */

const ACCOUNT = anAccount('acme');
const BOB = partyOf(ACCOUNT, 'bob');
const { tenant, mode, accountId } = ACCOUNT;
const NOW = 10_000;
const scope = { tenant, mode };
const names = new KeyedNames(Buffer.alloc(32, 1));
const codec = new EventCodec(new InMemorySubjectKeys());
const log = new InMemoryEventLog(() => 5_000);
const streams = openStreams(log, codec);

async function append(stream: string, events: Parameters<EventCodec['encode']>[0]): Promise<void> {
  const actor = { kind: 'api-key', id: 'key' } as const;
  const ids = { correlationId: 'c', causationId: 'c', commandId: 'c', idempotency: null };
  const eventIds = events.map(() => randomUUID());
  const encoded = await codec.encode(events, { tenant, mode, actor, ...ids }, eventIds);
  await log.append(stream, 'no-stream', encoded);
}

const whole = rewardGranted('whole', BOB, credit(100), { dateExpires: NOW - 1 });
const part = rewardGranted('part', BOB, credit(100));
const VISITS = 2 * EVENTS_SHOWN_MAX + 20;

beforeAll(async () => {
  await append(names.tenantStream(tenant), [
    {
      type: 'ProgramApplied',
      at: 1,
      version: 3,
      document: { ...DEFAULT_PROGRAM, id: 'default' },
      eventRules: [],
      isDefault: true,
    },
  ]);
  const visits = Array.from({ length: VISITS }, (_, n): AccountEvent => {
    return subscriptionChanged({ status: n % 2 === 0 ? 'PAID' : 'FREE' });
  });
  await append(names.accountStream(scope, names.accountRef(scope, accountId)), [
    accountOpened(ACCOUNT),
    userIdentified(ACCOUNT, 'bob', { firstName: 'Bob' }),
    whole,
    creditRedeemed(whole, 'd1', 100, 3_000),
    part,
    ...visits,
    creditRedeemed(part, 'd2', 40, 3_000),
    rewardWithheld({
      person: BOB.person,
      rule: REFERRED_RULE,
      programVersion: 3,
      reason: 'POOL_EMPTY',
    }),
  ]);
});

async function shown(over: Partial<HistoryRequest> = {}) {
  const core = { log, codec, names, streams } as unknown as Parameters<typeof accountHistory>[0];
  const request = { accountId, showsPersonal: true, ...over };
  return done(await accountHistory(core, scope, request, NOW));
}

describe.each([
  ['today', {}],
  ['at an earlier moment', { asOf: '1970-01-01T00:00:09Z' }],
])('an account %s', (_, moment) => {
  test('shows rewards with their use: nothing left is redeemed, also after its expiry', async () => {
    const { rewards, state } = await shown(moment);
    expect(state).toBe('Free');
    expect(rewards).toMatchObject([
      { rewardId: 'part', state: 'Partly redeemed', granted: 100, redeemed: 40, left: 60 },
      { rewardId: 'whole', state: 'Redeemed', granted: 100, redeemed: 100, left: 0 },
    ]);
  });

  test('shows why a reward was not granted, by the version of the program', async () => {
    const { why } = await shown(moment);
    expect(why).toEqual([
      {
        at: new Date(2_100).toISOString(),
        referralId: 'referral',
        sentence: 'Bob did not get a 10% discount for signing up: the pool of codes was empty.',
      },
    ]);
  });

  test('has a timeline by kind, in pages', async () => {
    const { events, olderBefore, eventCount } = await shown({ ...moment, kind: 'rewards' });
    expect(events.map(({ kind }) => kind)).toEqual(Array(5).fill('rewards'));
    expect(olderBefore).toBeNull();
    expect(eventCount).toBe(VISITS + 7);
    const paid: string[] = [];
    let before: string | null = String(eventCount);
    while (before !== null) {
      const page = await shown({ ...moment, kind: 'payment', before: BigInt(before) });
      expect(page.events.length).toBeLessThanOrEqual(EVENTS_SHOWN_MAX);
      paid.push(...page.events.map(({ revision }) => revision));
      before = page.olderBefore;
    }
    expect(paid).toEqual([...new Set(paid)]);
    expect(paid.length).toBe(VISITS);
  });

  test('has a timeline of every kind, in pages', async () => {
    const revisions: string[] = [];
    let before: string | null = '999';
    while (before !== null) {
      const page = await shown({ ...moment, before: BigInt(before) });
      revisions.push(...page.events.map(({ revision }) => revision));
      before = page.olderBefore;
    }
    expect(revisions).toEqual([...Array(VISITS + 7).keys()].reverse().map(String));
  });
});
