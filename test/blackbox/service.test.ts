import { request } from 'node:http';
import { LedgerClient, positionOf, type Answer } from '../harness/ledger-client.js';
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
describe('node dist/bin/main.js on an empty folder', () => {
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

  it('answers health, readiness, metrics and its description', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs']) {
      expect([path, await statusOf(service.url + path)]).toEqual([path, 200]);
    }
  });

  it('answers a refused request while its body is still arriving', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 0x20);
    const post = (
      path: string,
      headers: Readonly<Record<string, string>>,
    ): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        // A client that closes its connection writes on until it has written all; an error of the
        // socket comes before the answer.
        const sent = request(
          `${service.url}${path}`,
          { method: 'POST', agent: false, headers },
          (response) => {
            response.resume().on('end', () => resolve(response.statusCode));
          },
        );
        sent.on('error', reject);
        const writeFrom = (at: number): void => {
          if (at >= body.length) sent.end();
          else sent.write(body.subarray(at, at + 65_536), () => writeFrom(at + 65_536));
        };
        writeFrom(0);
      });
    const authorization = `Basic ${Buffer.from(`:${apiKey}`).toString('base64')}`;
    for (let round = 0; round < 5; round += 1) {
      expect(await post('/api/v1/demo/user', {})).toBe(401);
      expect(await post('/api/v1/demo/user', { authorization, 'content-type': 'text/plain' })).toBe(
        415,
      );
      expect(await post('/api/v1/demo/user', { authorization })).toBe(413);
      expect(await post('/api/v1/demo/nothing', { authorization })).toBe(404);
    }
  });

  it('plays the story: a friend uses a code, pays, and the referrer redeems the reward', async () => {
    await ok(client.post('accountsync', { id: 'ann', subscription: { status: 'TRIAL' } }));
    const ann = await ok(
      client.post('user', { id: 'ann', accountId: 'ann', firstName: 'Ann', lastName: 'Lee' }),
    );
    const code = ann['referralCode'];
    await ok(
      client.post('accountsync', {
        id: 'bob',
        subscription: { status: 'TRIAL' },
        referral: { code },
      }),
    );
    const bob = await ok(client.post('user', { id: 'bob', accountId: 'bob' }));
    expect(bob['referredBy']).toEqual({ code, isConverted: false, newlyReferred: true });
    const paid = {
      status: 'PAID',
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
      value: 20,
    };
    const written = await client.post('accountsync', { id: 'bob', subscription: paid });
    expect(positionOf(written)).toMatch(/./);

    const list = await ok(client.get('reward?accountId=ann'));
    expect(list).toMatchObject([
      { type: 'CREDIT', rewardSource: 'FRIEND_SIGNUP', assignedCredit: 1000, redeemedCredit: 0 },
    ]);
    const [reward] = list as unknown as { id: string }[];
    const redeem = { amount: 400, unit: 'cents' };
    expect(await ok(client.post(`credit/${reward?.id ?? ''}/redeem`, redeem))).toEqual({
      creditRedeemed: 400,
      creditAvailable: 600,
      unit: 'CENTS',
    });
    const balance = await ok(client.get('reward/balance?accountId=ann'));
    expect(balance).toMatchObject([
      { type: 'CREDIT', unit: 'CENTS', totalAssignedCredit: 1000, totalRedeemedCredit: 400 },
    ]);
    expect(await ok(client.get('reward/balance?accountId=bob'))).toMatchObject([
      { type: 'PCT_DISCOUNT', totalDiscountPercent: 10 },
    ]);
  });

  it('stops with 0 and stops its Postgres on SIGTERM, and has all data at the next start, without showing a key again', async () => {
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

  it('a second start on the folder attaches, and the last process to stop stops Postgres', async () => {
    const second = await startServiceProcess({ env: { DATA_DIR: dataDir } });
    const other = new LedgerClient({ url: second.url, apiKey });
    try {
      await second.ready();
      const written = await client.post('accountsync', {
        id: 'eve',
        subscription: { status: 'FREE' },
      });
      const atLeast = { 'Ledger-Position-At-Least': positionOf(written) ?? '' };
      expect(await ok(other.get('account/eve', atLeast))).toMatchObject({
        id: 'eve',
        subscription: { status: 'FREE' },
      });
      await ok(other.post('accountsync', { id: 'dan', subscription: { status: 'FREE' } }));
      expect(await ok(other.get('account/dan'))).toMatchObject({ id: 'dan' });
      expect(await second.terminate()).toBe(0);
      expect(await ok(client.get('account/dan'))).toMatchObject({ id: 'dan' });
    } finally {
      other.close();
      await second.kill();
    }
    // Ctrl-C in a terminal.
    await service.signal('SIGINT');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(await postmasterPid(dataDir)).toBeUndefined();
  });
});
