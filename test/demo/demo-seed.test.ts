import { demoStory } from '../../tools/demo/demo-story.js';
import { NotSeeded, seedDemo, type Seeded } from '../../tools/demo/seed-demo.js';
import { type Core } from '../../src/stores/core.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { closedPeriods } from '../../src/operations/ledger/ledger-periods.js';
import { listProposals } from '../../src/operations/ledger/ledger-proposals.js';
import { replayLedger } from '../support/operations.js';
import { createStores, RunningService, type TestStores } from '../support/running-service.js';
import { openCoreOn } from '../harness/open-core-on.js';

const [ACCOUNTS, DAYS, SEED] = [60, 90, 7];
const scopeOf = (tenant: string) => ({ tenant, mode: 'live' }) as const;

let stores: TestStores;
let core: Core;
let seeded: Seeded;
const now = Date.now();

const seed = (tenant: string): Promise<Seeded> =>
  seedDemo(core, { tenant, accounts: ACCOUNTS, days: DAYS, seed: SEED, now });

beforeAll(async () => {
  stores = await createStores();
  const env = { DATABASE_URL: stores.databaseUrl, MASTER_KEY_FILE: stores.masterKeyFile };
  // The past is recorded behind entries of today.
  core = await openCoreOn(env, { acceptsClock: true });
  seeded = await seed('demo');
});
afterAll(async () => {
  await core.close();
  await stores.remove();
});

async function allEvents(): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (let page = await core.log.readAll(undefined, 1_000); page.length > 0;) {
    events.push(...page);
    page = await core.log.readAll(page.at(-1)?.position, 1_000);
  }
  return events;
}

test('the same seed makes the same story, another seed another one', () => {
  const story = (of: number) => demoStory({ seed: of, accounts: 50, days: 20, until: now });
  expect(story(1)).toEqual(story(1));
  expect(story(2)).not.toEqual(story(1));
});

test('every event was recorded in its turn, before today', async () => {
  const times = (await allEvents()).map(({ recordedAt }) => recordedAt);
  expect(times.length).toBeGreaterThan(ACCOUNTS * 3);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(times.at(-1)).toBeLessThan(now);
  expect(times[0]).toBeGreaterThan(now - (DAYS + 2) * 24 * 3_600_000);
});

test('the demo has data for each page of the console', async () => {
  const types = new Set((await allEvents()).map(({ type }) => type));
  const wanted =
    'ReferralConverted RewardGranted RewardBecameAvailable CreditRedeemed RewardCancelled UserBlocked UserEventReceived ErasureCompleted CorrectionProposed PeriodClosed WebhookSubscribed WebhookDisabled';
  expect(wanted.split(' ').filter((type) => !types.has(type))).toEqual([]);
  const closed = await closedPeriods(core, scopeOf('demo'));
  expect(closed).toEqual([seeded.closed]);
  const waiting = await listProposals(core, scopeOf('demo'), { state: 'waiting', limit: 10, now });
  expect(waiting).toMatchObject([{ amount: 300, proposedBy: 'fay' }]);
});

test('a tenant with accounts is refused, and nothing is recorded', async () => {
  const head = await core.log.head();
  await expect(seed('demo')).rejects.toThrow(NotSeeded);
  expect(await core.log.head()).toBe(head);
});

test('a service that starts on it has nothing to grant, and its read models agree', async () => {
  const service = await RunningService.start(stores);
  try {
    const head = await core.log.head();
    expect(await service.service.policies.waitFor(head ?? '', 30_000)).toBe(true);
    const since = await core.log.readAll(head, 1_000);
    const byPolicies = since.filter(({ metadata }) => metadata.includes('"kind":"policy"'));
    expect(byPolicies).toEqual([]);
    const replay = await replayLedger(core, scopeOf('demo'), {});
    expect(replay.differences).toEqual([]);
  } finally {
    await service.stop();
  }
});
