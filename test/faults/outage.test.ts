import { join } from 'node:path';
import { LedgerClient, NoAnswer, type Answer } from '../harness/ledger-client.js';
import { openLedgerAudit } from '../../bench/ledger-audit.js';
import {
  makeDataDir,
  postgresPids,
  postmasterPid,
  printedKey,
  removeDataDir,
  startServiceProcess,
  statusOf,
  type ServiceProcess,
} from '../harness/service-process.js';
import { lockFile } from '../../src/embedded-postgres/file-lock.js';
import { eventually } from '../support/embedded.js';

/**
 * Requests are given up well before this, whatever hangs behind the service: a read waits 2 s for
 * own writes and 7 s for its statement.
 */
const BOUND_MS = 12_000;
const WRITE_BOUND_MS = 5_000;

async function must(status: number, pending: Promise<Answer>): Promise<Answer> {
  const answer = await pending;
  if (answer.status !== status)
    throw new Error(
      `answered ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`,
    );
  return answer;
}

async function giveCredit(
  client: LedgerClient,
  accountId: string,
  assignedCredit: number,
): Promise<string> {
  await must(200, client.post('accountsync', { id: accountId, subscription: { status: 'TRIAL' } }));
  await must(200, client.post('user', { id: accountId, accountId }));
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit };
  const { body } = await must(
    201,
    client.post(`rewards/account/${accountId}/user/${accountId}`, reward),
  );
  return (body as { id: string }).id;
}

const redeemedOf = async (client: LedgerClient, accountId: string): Promise<number | undefined> => {
  const answer = await client.get(`reward/balance?accountId=${accountId}`);
  return (answer.body as { totalRedeemedCredit: number }[])[0]?.totalRedeemedCredit;
};

const isReady = async ({ url }: ServiceProcess): Promise<boolean> =>
  (await statusOf(`${url}/health/ready`)) === 200;

async function checksOf({
  url,
}: ServiceProcess): Promise<Readonly<Record<string, { readonly ok: boolean }>>> {
  const { checks } = (await (await fetch(`${url}/health/ready`)).json()) as {
    checks: Readonly<Record<string, { ok: boolean }>>;
  };
  return checks;
}

let dataDir: string;
let service: ServiceProcess;
let client: LedgerClient;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({
    env: { DATA_DIR: dataDir, STATEMENT_TIMEOUT_MS: '1000' },
  });
  await service.ready();
  client = new LedgerClient({
    url: service.url,
    apiKey: printedKey(service.output()),
    connectionsMax: 200,
  });
});
afterAll(async () => {
  client.close();
  await service.kill();
  await removeDataDir(dataDir);
});

/** Hung: nothing answers, nothing is refused. @returns what ends it. */
const freeze = async (): Promise<() => Promise<void>> => {
  const frozen = await postgresPids(dataDir);
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
  return async () => frozen.forEach((pid) => process.kill(pid, 'SIGCONT'));
};

/** Kills the server, and holds the lock that every starter of it needs. */
const takeAway = async (): Promise<() => Promise<void>> => {
  const lock = await lockFile(join(dataDir, 'postgres.lock'), 5_000);
  for (const pid of await postgresPids(dataDir)) process.kill(pid, 'SIGKILL');
  await eventually(async () => (await postmasterPid(dataDir)) === undefined);
  return () => lock.release();
};

// Each test begins with a service that is well, whatever the one before it found.
beforeEach(() => eventually(() => isReady(service)));

it.each([
  ['hangs', freeze],
  ['is gone', takeAway],
])(
  'one process on the embedded Postgres answers 503 in bounded time while Postgres %s, and recovers by itself afterwards',
  async (name, begin) => {
    const account = name.replace(' ', '-');
    const rewardId = await giveCredit(client, account, 100);
    const key = { 'Idempotency-Key': `while it ${name}` };
    const redeem = { amount: 7, unit: 'CENTS' };

    const end = await begin();
    try {
      const answers = Promise.all([
        client.post(`credit/${rewardId}/redeem`, { amount: 5, unit: 'CENTS' }),
        client.post(`credit/${rewardId}/redeem`, redeem, key),
        client.post('accountsync', { id: `${account}-too`, subscription: { status: 'TRIAL' } }),
        client.get(`reward/balance?accountId=${account}`),
        client.get('users'),
      ]);
      await eventually(async () => (await statusOf(`${service.url}/health/ready`)) === 503);
      expect(await statusOf(`${service.url}/health/live`, 500)).toBe(200);
      for (const [index, { status, headers, body, ms }] of (await answers).entries()) {
        expect({ status, body }).toEqual({
          status: 503,
          body: expect.objectContaining({ apiErrorCode: 'UNAVAILABLE' }) as unknown,
        });
        expect(headers['retry-after']).toMatch(/^\d+$/);
        expect(ms).toBeLessThan(index < 3 ? WRITE_BOUND_MS : BOUND_MS);
      }
    } finally {
      await end();
    }

    await eventually(() => isReady(service));
    // Every part of it, by itself.
    await eventually(async () => Object.values(await checksOf(service)).every(({ ok }) => ok));
    // A repetition with the key shows whether the unanswered ones happened; each happened
    // once or not at all.
    await must(200, client.post(`credit/${rewardId}/redeem`, redeem, key));
    await must(200, client.post(`credit/${rewardId}/redeem`, redeem, key));
    expect([7, 12]).toContain(await redeemedOf(client, account));
  },
  60_000,
);

it('on SIGTERM one process on the embedded Postgres answers what is in flight, ends with 0, and leaves the read models at the head', async () => {
  const rewardId = await giveCredit(client, 'stopped', 1_000_000);
  const statuses = new Map<number, number>();
  let refusedConnections = 0;
  const broken: string[] = [];
  let running = 0;
  const caller = async (): Promise<void> => {
    for (;;) {
      running++;
      try {
        const { status } = await client.post(`credit/${rewardId}/redeem`, {
          amount: 1,
          unit: 'CENTS',
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        if (error.message.includes('ECONNREFUSED')) refusedConnections++;
        else broken.push(error.message);
        return;
      }
    }
  };
  const callers = Promise.all(Array.from({ length: 32 }, caller));
  await eventually(async () => running > 300);
  const code = await service.terminate();
  await callers;
  expect(code).toBe(0);
  expect({ broken, refusedConnections }).toEqual({ broken: [], refusedConnections: 32 });
  expect([...statuses.keys()]).toEqual([200]);
  expect(await postmasterPid(dataDir)).toBeUndefined();

  const books = await openLedgerAudit(dataDir);
  try {
    expect({ readModels: await books.isUpToDate(), policies: await books.isReactedTo() }).toEqual({
      readModels: true,
      policies: true,
    });
    expect(await books.logFaults()).toEqual([]);
    expect((await books.differences()).faults).toEqual([]);
  } finally {
    await books.close();
  }
}, 60_000);
