import { openStreams } from '../../src/command-handling/streams.js';
import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { EventLog, ExpectedRevision } from '../../src/event-log/event-log.js';
import {
  accountHistory,
  EVENTS_SHOWN_MAX,
  type HistoryRequest,
} from '../../src/operations/accounts/account-history.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { REFERRED_RULE } from '../../src/domain/program.js';
import {
  aboutReward,
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
import { encodedEvents } from '../support/encoded-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { done } from '../support/operations.js';

const ACCOUNT = anAccount('acme');
const BOB = partyOf(ACCOUNT, 'bob');
const { tenant, mode, accountId } = ACCOUNT;
const NOW = 10_000;
const scope = { tenant, mode };
const names = new KeyedNames(Buffer.alloc(32, 1));
const codec = new EventCodec(new InMemorySubjectKeys());
const log = new InMemoryEventLog(() => 5_000);
const streams = openStreams(log, codec);

const accountStream = names.accountStream(scope, names.accountRef(scope, accountId));

async function append(
  stream: string,
  events: readonly DomainEvent[],
  to: EventLog = log,
  revision: ExpectedRevision = 'no-stream',
): Promise<void> {
  await to.append(stream, revision, await encodedEvents(codec, scope, events));
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
  await append(accountStream, [
    accountOpened(ACCOUNT),
    userIdentified(ACCOUNT, 'bob', { firstName: 'Bob' }),
    whole,
    creditRedeemed(whole, 'd1', 100, 3_000),
    aboutReward('RewardExpired', whole, 0, 4_000),
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

async function shown(over: Partial<HistoryRequest> = {}, of: EventLog = log, now = NOW) {
  const core = { log: of, codec, names, streams } as unknown as Parameters<
    typeof accountHistory
  >[0];
  const request = { accountId, showsPersonal: true, ...over };
  return done(await accountHistory(core, scope, request, now));
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
    expect(eventCount).toBe(VISITS + 8);
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

  test('has a timeline of every kind but expiries of nothing, in pages', async () => {
    const revisions: string[] = [];
    let before: string | null = '999';
    while (before !== null) {
      const page = await shown({ ...moment, before: BigInt(before) });
      revisions.push(...page.events.map(({ revision }) => revision));
      before = page.olderBefore;
    }
    const expiry = 4;
    const others = [...Array(VISITS + 8).keys()].filter((revision) => revision !== expiry);
    expect(revisions).toEqual(others.reverse().map(String));
  });
});

describe('an account whose first events were recorded under a clock that was 40 days ahead', () => {
  const DAY_MS = 86_400_000;
  const TODAY = Date.parse('2026-10-01T12:00:00Z');
  let clock: number;
  const moved = new InMemoryEventLog(() => clock);

  beforeAll(async () => {
    const ahead = TODAY + 40 * DAY_MS;
    const reward = rewardGranted('w1', BOB, credit(100), { at: ahead });
    const user = userIdentified(ACCOUNT, 'bob', {}, ahead);
    clock = ahead;
    await append(accountStream, [accountOpened(ACCOUNT, { at: ahead }), user, reward], moved);
    clock = TODAY - 1_000;
    moved.acceptClock();
    await append(accountStream, [creditRedeemed(reward, 'd1', 30, clock)], moved, 2n);
  });

  const shownAt = (asOf: string) => shown({ asOf }, moved, TODAY);

  test('shows every event before the last one that counts by an earlier moment', async () => {
    expect(await shownAt('2026-10-01')).toMatchObject({
      isOpen: true,
      people: [{ userId: 'bob' }],
      eventCount: 4,
      units: [{ available: 70, redeemed: 30 }],
      later: 1,
    });
  });

  test('does not exist before its first entry that counts', async () => {
    expect(await shownAt('2026-09-30')).toMatchObject({ isOpen: false, eventCount: 0, later: 1 });
  });
});
