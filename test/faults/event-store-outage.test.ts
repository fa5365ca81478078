import type { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import {
  startEventStoreDbDouble,
  type EventStoreDbDouble,
} from '../harness/eventstoredb-double/double.js';
import { aPerson, give } from '../support/people.js';
import {
  createStores,
  personal,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

/** A request is answered before this, whatever the store does. */
const BOUND_MS = 5_000;

interface Health {
  readonly status: number;
  readonly checks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

async function health({ origin }: RunningService): Promise<Health> {
  const response = await fetch(`${origin}/health/ready`);
  const { checks } = (await response.json()) as Pick<Health, 'checks'>;
  return { status: response.status, checks };
}

const isReady = async (service: RunningService): Promise<boolean> =>
  (await health(service)).status === 200;

const redeemedOf = async (client: ApiClient, accountId: string): Promise<number | undefined> => {
  const { status, body } = await client.get<readonly { readonly totalRedeemedCredit: number }[]>(
    `/reward/balance?accountId=${accountId}`,
  );
  return status === 200 ? body[0]?.totalRedeemedCredit : undefined;
};

const redeem = (client: ApiClient, rewardId: string, amount: number, key: string) =>
  client.post(`/credit/${rewardId}/redeem`, { amount, unit: 'CENTS' }, { key });

class Scene {
  private readonly services: RunningService[] = [];

  private constructor(
    private readonly stores: TestStores,
    readonly double: EventStoreDbDouble,
  ) {}

  static async open(): Promise<Scene> {
    return new Scene(await createStores(), await startEventStoreDbDouble());
  }

  async start(url = this.double.url, deadlineMs = 4_000): Promise<RunningService> {
    const times = {
      EVENT_STORE_URL: `${url}&defaultDeadline=${deadlineMs}`,
      POSITION_WAIT_MS: '1000',
    };
    const service = await RunningService.start(this.stores, times);
    this.services.push(service);
    return service;
  }

  async close(): Promise<void> {
    this.double.faults.clear();
    for (const service of this.services) await service.stop();
    await this.double.stop();
    await this.stores.remove();
  }
}

describe('one service, which started before its EventStoreDB did', () => {
  let scene: Scene;
  let double: EventStoreDbDouble;
  let service: RunningService;
  let tenant: TestTenant;

  beforeAll(async () => {
    scene = await Scene.open();
    double = scene.double;
    await double.kill();
    // Long enough for a busy machine, and writes are to be refused soon.
    service = await scene.start(double.url, 1_500);
  });
  afterEach(() => double.faults.clear());
  afterAll(() => scene.close());

  it('reports what it waits for, and is ready when the store is', async () => {
    const { status, checks } = await health(service);
    expect({ status, log: checks['event-log'] }).toEqual({
      status: 503,
      log: { ok: false, problem: 'EventStoreDB is unavailable or does not answer' },
    });
    expect((await fetch(`${service.origin}/health/live`)).status).toBe(200);
    const write = await service
      .client('missing', 'x:y')
      .post('/accountsync', { id: personal(), subscription: { status: 'TRIAL' } });
    expect({ status: write.status, retryAfter: write.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: expect.stringMatching(/^\d+$/) as unknown,
    });
    await double.restart();
    await eventually(() => isReady(service));
    expect((await health(service)).checks['event-log']).toMatchObject({
      ok: true,
      store: 'eventstoredb 23.10.8',
    });
    tenant = await service.createTenant();
    await give(tenant.live, await aPerson(tenant.live));
  });

  it.each<[string, () => Promise<void>, () => Promise<void>]>([
    ['is gone', () => double.kill(), () => double.restart()],
    ['hangs', async () => double.faults.set('hung'), async () => double.faults.clear('hung')],
    [
      'is not ready',
      async () => double.faults.set('not-ready'),
      async () => double.faults.clear('not-ready'),
    ],
    [
      'breaks all connections',
      async () => double.faults.set('connection-cut'),
      async () => double.faults.clear('connection-cut'),
    ],
  ])(
    'while the store %s: writes get 503 with Retry-After, reads go on; then everything catches up without a restart',
    async (_name, begin, end) => {
      const client = tenant.live;
      const { accountId, at } = await aPerson(client);
      const rewardId = await give(client, { at });
      await eventually(() => isReady(service));
      await redeem(client, rewardId, 1, personal('key'));
      await eventually(async () => (await redeemedOf(client, accountId)) === 1);

      const key = personal('key');
      // This check is not reported once a write has failed.
      expect(await isReady(service)).toBe(true);
      await begin();
      const startedAt = performance.now();
      const write = await redeem(client, rewardId, 10, key);
      expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
      expect({
        status: write.status,
        error: write.body.apiErrorCode,
        retryAfter: write.headers.get('retry-after'),
      }).toEqual({
        status: 503,
        error: 'UNAVAILABLE',
        retryAfter: expect.stringMatching(/^\d+$/) as unknown,
      });
      const readAt = performance.now();
      const shown = await client.get(`/reward/balance?accountId=${accountId}`);
      expect(performance.now() - readAt).toBeLessThan(BOUND_MS);
      expect(shown).toMatchObject({ status: 200, body: [{ totalRedeemedCredit: 1 }] });
      const unwell = await health(service);
      expect({ status: unwell.status, log: unwell.checks['event-log'] }).toEqual({
        status: 503,
        log: {
          ok: false,
          problem: expect.stringMatching(
            /^EventStoreDB is unavailable or does not answer$|^no answer in time$/,
          ) as unknown,
        },
      });
      // The one that is away is named, and not the other.
      const projections = Object.entries(unwell.checks).filter(([name]) =>
        name.startsWith('projection '),
      );
      expect({
        postgres: unwell.checks.postgres,
        blamed: projections.filter(([, { lastError }]) => lastError === 'the database is away'),
      }).toEqual({ postgres: { ok: true }, blamed: [] });
      await end();

      await eventually(() => isReady(service));
      await eventually(async () => (await redeem(client, rewardId, 10, key)).status === 200);
      // What another process writes is heard of, too.
      await eventually(async () => (await redeemedOf(client, accountId)) === 11);
      await eventually(async () =>
        Object.values((await health(service)).checks).every(({ ok }) => ok === true),
      );
    },
  );
});

it('events of a foreign stream with our prefix are reported with its name and a remedy, and what follows is shown', async () => {
  const scene = await Scene.open();
  try {
    const service = await scene.start();
    await eventually(() => isReady(service));
    const tenant = await service.createTenant();
    const check = async (name: string) =>
      (await health(service)).checks[`projection ${name}`] ?? {};
    scene.double.storedBehindTheBack('referral-cards-7', [{ type: 'CardPrinted' }]);
    const why =
      'the stream referral-cards-7 is not of this service but begins like its own: delete it from the store and scavenge';
    await eventually(async () => String((await check('rewards')).lastError).includes(why));
    const account = { id: personal('acc'), subscription: { status: 'TRIAL' } };
    const written = await tenant.live.post('/accountsync', account);
    expect(written.status).toBe(200);
    const position = written.headers.get('ledger-position') ?? '';
    const { log } = service.service.core;
    await eventually(
      async () => log.compare(String((await check('rewards')).position), position) >= 0,
    );
    expect(await check('rewards')).toMatchObject({ ok: true });
    expect((await tenant.live.get(`/account/${account.id}`)).status).toBe(200);
    expect(String((await check('users')).lastError)).toContain('EVENT_STORE_NAMESPACE');
  } finally {
    await scene.close();
  }
});
