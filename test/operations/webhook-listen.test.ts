import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createLocalJWKSet, flattenedVerify, type JSONWebKeySet } from 'jose';
import { Webhook } from 'standardwebhooks';
import type { ApiClient } from '../support/api-client.js';
import { runHere } from '../support/command-line.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { eventually } from '../support/embedded.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { openOnce } from '../support/opened.js';

/** `webhook listen` as it ships, next to a running service. */

jest.setTimeout(180_000);

const running = useService();
const receiver = openOnce(startWebhookReceiver, 'stop');
const line = openOnce(() => startPostgresProxy(running.stores.databaseUrl));
const proxy = openOnce(() => line.proxy, 'close');
const tenant = useTenant(running, { each: true });

class Listening {
  out = '';
  err = '';
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown[]>;

  constructor(...words: readonly string[]) {
    this.child = spawn(process.execPath, ['dist/bin/cli.js', 'webhook', 'listen', ...words], {
      env: {
        ...process.env,
        DATABASE_URL: line.url,
        MASTER_KEY_FILE: running.stores.masterKeyFile,
        PUBLIC_URL: 'https://share.example',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (text: Buffer) => (this.out += text.toString()));
    this.child.stderr?.on('data', (text: Buffer) => (this.err += text.toString()));
    this.ended = once(this.child, 'close');
  }

  async begun(): Promise<this> {
    await this.until(() => this.err.includes('listening to'));
    return this;
  }

  async until(condition: () => boolean): Promise<void> {
    await eventually(() => condition() || this.isEnded());
    if (!condition()) throw new Error(`it ended: ${this.err}`);
  }

  get lines(): readonly string[] {
    return this.out.split('\n').slice(0, -1);
  }

  get envelopes(): readonly { id: string; type: string; live: boolean; tenantAlias: string }[] {
    return this.lines.map((text) => JSON.parse(text) as (typeof this.envelopes)[number]);
  }

  get secret(): string {
    return /with the secret (whsec_\S+)/.exec(this.err)?.[1] ?? '';
  }

  async end(signal: NodeJS.Signals = 'SIGINT'): Promise<unknown> {
    this.child.kill(signal);
    const [code] = await this.ended;
    return code;
  }

  private isEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

async function aUser(client: ApiClient): Promise<string> {
  const accountId = personal('acc');
  const id = personal('user');
  const path = `/open/account/${accountId}/user/${id}`;
  expect((await client.put(path, { id, accountId, firstName: 'Ann' })).status).toBe(200);
  return id;
}

const rows = async (): Promise<unknown> =>
  (
    await running.service.service.core.pool.query(
      `select (select count(*) from ledger.webhook_deliveries) as deliveries,
        (select count(*) from ledger.webhook_endpoints) as endpoints`,
    )
  ).rows;

test('each new event of the requested mode and types is a line', async () => {
  await aUser(tenant.live);
  const before = await rows();
  const [all, some, ofTest] = [
    new Listening(tenant.alias, '--json'),
    new Listening(tenant.alias, '--types', 'coupon.created,reward.created'),
    new Listening(tenant.alias, '--mode', 'test', '--json'),
  ];
  for (const each of [all, some, ofTest]) await each.begun();
  const id = await aUser(tenant.live);
  await aUser(tenant.test);
  await all.until(() => all.lines.length >= 2);
  await some.until(() => some.lines.length >= 1);
  await ofTest.until(() => ofTest.lines.length >= 2);
  expect(all.envelopes).toMatchObject([
    { type: 'user.created', live: true, tenantAlias: tenant.alias, data: { id } },
    { type: 'coupon.created', live: true },
  ]);
  expect(ofTest.envelopes.map(({ type, live }) => [type, live])).toEqual([
    ['user.created', false],
    ['coupon.created', false],
  ]);
  expect(some.lines).toEqual([
    expect.stringMatching(new RegExp(`^\\d{4}-\\S+Z coupon\\.created ${all.envelopes[1]?.id}$`)),
  ]);
  expect(await Promise.all([all.end(), some.end('SIGTERM'), ofTest.end()])).toEqual([0, 0, 0]);
  expect([all.lines.length, some.lines.length, ofTest.lines.length]).toEqual([2, 1, 2]);
  expect(await rows()).toEqual(before);
});

test('after the test data are removed the lines continue with the new ones', async () => {
  const listening = await new Listening(tenant.alias, '--mode', 'test').begun();
  await aUser(tenant.test);
  await listening.until(() => listening.lines.length === 2);
  const words = ['tenant', 'clock', tenant.alias, '--reset-with-data'];
  expect(await runHere(running.stores, words)).toMatchObject({ code: 0 });
  const id = await aUser(tenant.test);
  await listening.until(() => listening.lines.length === 4);
  expect(listening.lines[2]).toMatch(
    new RegExp(`^\\d{4}-\\S+Z user\\.created \\S+ account \\S+ user ${id}$`),
  );
  expect(await listening.end()).toBe(0);
});

test('events are forwarded signed twice, without a subscription, with the body of the line', async () => {
  const listening = await new Listening(
    ...[tenant.alias, '--json', '--forward-to', receiver.url('/mine')],
  ).begun();
  await aUser(tenant.live);
  const received = await receiver.requests('/mine', 2);
  await listening.until(() => listening.lines.length === 2);
  const served = await fetch(`${running.service.origin}/.well-known/jwks.json`);
  expect(served.headers.get('cache-control')).toBe('no-cache');
  const keys = createLocalJWKSet((await served.json()) as JSONWebKeySet);
  for (const [index, { body, headers }] of received.entries()) {
    expect(body.toString()).toBe(listening.lines[index]);
    expect(new Webhook(listening.secret).verify(body.toString(), { ...headers })).toMatchObject({
      id: headers['webhook-id'],
    });
    const [header = '', , signature = ''] = (headers['x-hook-jws-rfc-7797'] ?? '').split('.');
    const jws = { protected: header, payload: body.toString('base64url'), signature };
    await expect(flattenedVerify(jws, keys)).resolves.toMatchObject({
      protectedHeader: { alg: 'RS256' },
    });
  }
  expect(await listening.end()).toBe(0);
});

test('a receiver that is down, refuses or hangs is reported, and the next event is forwarded', async () => {
  const gone = await startWebhookReceiver();
  await gone.stop();
  const down = await new Listening(tenant.alias, '--forward-to', gone.url('/hook')).begun();
  receiver.behave('/bad', { kind: 'answer', status: 500 }, { kind: 'hang' });
  const bad = await new Listening(tenant.alias, '--forward-to', receiver.url('/bad')).begun();
  await aUser(tenant.live);
  await down.until(() => down.lines.length === 2 && down.err.includes('coupon.created'));
  expect(down.err).toMatch(/user\.created \S+ was not forwarded: refused/);
  await receiver.requests('/bad', 2);
  await bad.until(() => bad.err.includes('was answered with 500'));
  expect(await Promise.all([down.end(), bad.end()])).toEqual([0, 0]);
});

test('webhook listen waits while the database is away, and misses nothing', async () => {
  const listening = await new Listening(
    ...[tenant.alias, '--json', '--forward-to', receiver.url('/late')],
  ).begun();
  proxy.refuse();
  await aUser(tenant.live);
  proxy.accept();
  await aUser(tenant.live);
  await receiver.requests('/late', 4);
  await listening.until(() => listening.lines.length === 4);
  expect(new Set(listening.envelopes.map(({ id }) => id)).size).toBe(4);
  expect(await listening.end()).toBe(0);
});

test.each([
  ['another machine', ['--forward-to', 'http://example.com/hook'], /--forward-to must lead to/],
  ['a name that looks like it', ['--forward-to', 'http://127.0.0.1.example.com/'], /must lead to/],
  ['no URL', ['--forward-to', 'here'], /--forward-to must be an absolute URL/],
  ['an unknown type', ['--types', 'user.created,user.gone'], /--types takes some of/],
  ['an unknown mode', ['--mode', 'prod'], /--mode <mode>/],
])('%s ends with one line and exit 1', async (_, options, line) => {
  const refused = await runHere(running.stores, ['webhook', 'listen', tenant.alias, ...options]);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/^[^\n]+\n$/);
  expect(refused.err).toMatch(line);
});
