import { LedgerClient, type Answer } from '../harness/ledger-client.js';
import {
  makeDataDir,
  postmasterPid,
  printedKey,
  removeDataDir,
  startServiceProcess,
  statusOf,
  type ServiceProcess,
} from '../harness/service-process.js';

/** What ships, as it ships: the other suites run it transformed. */
let dataDir: string;
let service: ServiceProcess;
let client: LedgerClient;
let apiKey: string;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'info' } });
  await service.ready();
  apiKey = printedKey(service.output());
  client = new LedgerClient({ url: service.url, apiKey });
});
afterAll(async () => {
  client.close();
  await service.kill();
  await removeDataDir(dataDir);
});

const ok = async (pending: Promise<Answer>): Promise<Record<string, unknown>> => {
  const { status, body } = await pending;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body as Record<string, unknown>;
};

it('node dist/bin/main.js on an empty folder answers health, readiness, metrics and its description', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs']) {
    expect([path, await statusOf(service.url + path)]).toEqual([path, 200]);
  }
});

// The whole story: the project `compiled`.
it('node dist/bin/main.js on an empty folder records credit and redeems it', async () => {
  await ok(client.post('accountsync', { id: 'ann', subscription: { status: 'TRIAL' } }));
  await ok(client.post('user', { id: 'ann', accountId: 'ann' }));
  const credit = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1000 };
  const { id } = await ok(client.post('rewards/account/ann/user/ann', credit));
  expect(
    await ok(client.post(`credit/${String(id)}/redeem`, { amount: 400, unit: 'cents' })),
  ).toEqual({ creditRedeemed: 400, creditAvailable: 600, unit: 'CENTS' });
});

it('node dist/bin/main.js on an empty folder stops with 0 and stops its Postgres on SIGTERM, and has all data at the next start, without showing a key again', async () => {
  expect(await service.terminate()).toBe(0);
  expect(await postmasterPid(dataDir)).toBeUndefined();
  service = await startServiceProcess({ env: { DATA_DIR: dataDir, LOG_LEVEL: 'info' } });
  await service.ready();
  client.close();
  client = new LedgerClient({ url: service.url, apiKey });
  const balance = await ok(client.get('reward/balance?accountId=ann'));
  expect(balance).toMatchObject([{ type: 'CREDIT', totalRedeemedCredit: 400 }]);
  expect(service.output()).not.toContain('API key');
});
