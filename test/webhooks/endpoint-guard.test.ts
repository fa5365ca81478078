// Over 5 s: name servers that are silent are waited for.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EndpointGuard } from '../../src/webhooks/sending/endpoint-guard.js';
import { findAddressesFrom } from '../../src/webhooks/sending/find-addresses.js';
import { WebhookPost } from '../../src/webhooks/sending/webhook-post.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { watchConnectionAttempts } from './support/connection-attempts.js';
import {
  FORBIDDEN_HOSTS,
  FORBIDDEN_NAMES,
  MALFORMED_URLS,
  PUBLIC_HOSTS,
} from './support/endpoint-cases.js';
import { startNameServer } from './support/name-server.js';
import { openOnce } from '../support/opened.js';

const names = openOnce(startNameServer, 'close');
// All addresses of this machine, so that a connection to any of them is seen.
const receiver = openOnce(() => startWebhookReceiver({ host: '0.0.0.0' }), 'stop');

beforeAll(async () => {
  names.set('public.test', ['93.184.216.34', '2606:4700::1111']);
  for (const [name, addresses] of Object.entries(FORBIDDEN_NAMES)) names.set(name, addresses);
});

type Ranges = ConstructorParameters<typeof EndpointGuard>[0]['allowed'];
const THIS_RECEIVER: Ranges = [{ address: '127.0.0.1', prefix: 32, family: 'ipv4' }];

const HOSTS = `# Names of a test.
10.0.0.7\tlisted.test alias.test # commented.test
fd00::7   listed.test
not-an-address listed.test
`;

const guardWith = (allowed: Ranges = []): EndpointGuard =>
  new EndpointGuard({
    allowed,
    lookup: findAddressesFrom({ servers: [names.address], hostsFile: '/nowhere' }),
  });

async function post(url: string, allowed?: Ranges) {
  const sender = new WebhookPost(guardWith(allowed));
  try {
    const posted = await sender.post({ url, headers: {}, body: Buffer.from('{}') });
    return posted.kind === 'failed' ? posted.reason : posted.status;
  } finally {
    await sender.close();
  }
}

const hosts = [...Object.values(FORBIDDEN_HOSTS).flat(), ...Object.keys(FORBIDDEN_NAMES)];

it.each([
  ['https://93.184.216.34/', 'allowed'],
  ['http://93.184.216.34:443/', 'allowed'],
  ['https://93.184.216.34:80/', 'allowed'],
  ['https://93.184.216.34:1024/', 'allowed'],
  ['http://93.184.216.34:25/', 'not-allowed'],
  ['https://93.184.216.34:1023/', 'not-allowed'],
  ['http://10.0.0.1:8080/', 'allowed'],
  ['http://169.254.169.254/latest/', 'not-allowed'],
  ['http://[::ffff:169.254.169.254]/', 'not-allowed'],
  ['http://168.63.129.16/', 'not-allowed'],
  ['http://[fd00:ec2::254]/', 'not-allowed'],
])('%s is %s, although the operator allows every address', async (url, kind) => {
  const guard = guardWith([
    { address: '0.0.0.0', prefix: 0, family: 'ipv4' },
    { address: '::', prefix: 0, family: 'ipv6' },
  ]);
  expect((await guard.check(url)).kind).toBe(kind);
  if (kind === 'not-allowed')
    expect(await post(url, [{ address: '0.0.0.0', prefix: 0, family: 'ipv4' }])).toBe(
      'address-not-allowed',
    );
});

it.each(['http', 'https'])('no forbidden host can be subscribed with %s', async (scheme) => {
  const guard = guardWith();
  const checked = await Promise.all(
    hosts.map(async (host) => [host, (await guard.check(`${scheme}://${host}:8443/hook`)).kind]),
  );
  expect(checked).toEqual(hosts.map((host) => [host, 'not-allowed']));
});

it.each(['http', 'https'])('no forbidden host gets a connection with %s', async (scheme) => {
  const attempts = watchConnectionAttempts(receiver);
  const before = receiver.connections;
  try {
    const posted = await Promise.all(
      hosts.map(async (host) => [host, await post(`${scheme}://${host}:${receiver.port}/hook`)]),
    );
    expect(posted).toEqual(hosts.map((host) => [host, 'address-not-allowed']));
    expect(attempts.addresses).toEqual([]);
    // Both watches see connections.
    expect(await post(`http://127.0.0.1:${receiver.port}/${scheme}`, THIS_RECEIVER)).toBe(200);
    await receiver.requests(`/${scheme}`);
    expect(new Set(attempts.addresses)).toEqual(new Set(['127.0.0.1']));
    expect(receiver.connections).toBe(before + 1);
  } finally {
    attempts.stop();
  }
});

it('the guard accepts public addresses in all spellings', async () => {
  const guard = guardWith();
  const checked = await Promise.all(
    PUBLIC_HOSTS.map(async (host) => [host, (await guard.check(`https://${host}/hook`)).kind]),
  );
  expect(checked).toEqual(PUBLIC_HOSTS.map((host) => [host, 'allowed']));
});

it.each(MALFORMED_URLS.map((url) => [JSON.stringify(url).slice(0, 60), url]))(
  'the guard refuses %s as no URL of an endpoint',
  async (_, url) => {
    expect(await guardWith().check(url)).toMatchObject({ kind: 'malformed' });
  },
);

it('the guard accepts 2000 characters, ports, paths and queries', async () => {
  const start = 'https://public.test:8443/hook?a=1&b=@';
  const url = start + '😀'.repeat(2_000 - start.length);
  expect(await guardWith().check(url)).toEqual({ kind: 'allowed' });
  expect(await guardWith().check(`${url}x`)).toEqual({
    kind: 'malformed',
    reason: 'must be at most 2000 characters',
  });
});

it('a name that does not resolve can be subscribed and gets no connection', async () => {
  names.set('broken.test', 'server-failure');
  expect(await guardWith().check('https://nowhere.test/hook')).toEqual({ kind: 'allowed' });
  expect(await guardWith().check('https://broken.test/hook')).toEqual({ kind: 'allowed' });
  expect(await post('http://nowhere.test/hook')).toBe('name-not-found');
  expect(await post('http://broken.test/hook')).toBe('name-server');
});

it('a name whose servers are silent is given up, and no other name waits for it', async () => {
  const silent = Array.from({ length: 20 }, (_, index) => `silent${index}.test`);
  for (const name of silent) names.set(name, 'silence');
  const guard = new EndpointGuard({
    allowed: [],
    lookup: findAddressesFrom({
      servers: [names.address],
      hostsFile: '/nowhere',
      withinMs: 20_000,
    }),
  });
  let ended = 0;
  const waiting = silent.map((name) => guard.check(`http://${name}/`).finally(() => (ended += 1)));
  expect(await guard.check('http://loopback.test/')).toMatchObject({ kind: 'not-allowed' });
  expect(ended).toBe(0);
  expect(await Promise.all(waiting)).toEqual(silent.map(() => ({ kind: 'allowed' })));
});

it('a name that changes between the check and the connection gets none', async () => {
  names.set('rebinding.test', ['93.184.216.34'], ['127.0.0.1']);
  const attempts = watchConnectionAttempts(receiver);
  expect(await guardWith().check('http://rebinding.test/hook')).toEqual({ kind: 'allowed' });
  expect(await post(`http://rebinding.test:${receiver.port}/hook`)).toBe('address-not-allowed');
  attempts.stop();
  expect(attempts.addresses).toEqual([]);
});

it('a name is resolved once per connection, which uses the checked address', async () => {
  names.set('once.test', ['127.0.0.1'], ['127.0.0.2']);
  const attempts = watchConnectionAttempts(receiver);
  expect(await post(`http://once.test:${receiver.port}/once`, THIS_RECEIVER)).toBe(200);
  attempts.stop();
  expect(new Set(attempts.addresses)).toEqual(new Set(['127.0.0.1']));
  expect([names.questions('once.test', 'A'), names.questions('once.test', 'AAAA')]).toEqual([1, 1]);
  const [request] = await receiver.requests('/once');
  expect(request?.headers.host).toBe(`once.test:${receiver.port}`);
});

it('a name is found in the hosts file, and checked like any other', async () => {
  const guard = new EndpointGuard({ allowed: [] });
  // Every machine lists its own names there.
  expect(await guard.check('http://localhost/')).toMatchObject({ kind: 'not-allowed' });
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
  const hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, HOSTS);
  const listed = findAddressesFrom({ servers: [names.address], hostsFile });
  expect(await listed('listed.test')).toEqual(['10.0.0.7', 'fd00::7']);
  expect(await listed('ALIAS.test.')).toEqual(['10.0.0.7']);
  await expect(listed('commented.test')).rejects.toMatchObject({ reason: 'name-not-found' });
  expect(await listed('public.test')).toEqual(['93.184.216.34', '2606:4700::1111']);
  await rm(folder, { recursive: true });
});

it('a kept connection is used again for its own origin only; another port is checked anew', async () => {
  names.set('moving.test', ['127.0.0.1']);
  const sender = new WebhookPost(guardWith(THIS_RECEIVER));
  const posted = (url: string) => sender.post({ url, headers: {}, body: Buffer.from('{}') });
  const url = `http://moving.test:${receiver.port}/moving`;
  const other = await startWebhookReceiver({ host: '0.0.0.0' });
  const connectionsUsed = () =>
    new Set(receiver.receivedAt('/moving').map(({ connection }) => connection)).size;
  try {
    let count = 0;
    // A connection is free for the next request a turn after its answer.
    while (count === connectionsUsed()) {
      expect(await posted(url)).toMatchObject({ kind: 'answered', status: 200 });
      count += 1;
      await receiver.requests('/moving', count);
    }
    names.set('moving.test', ['127.0.0.2']);
    const used = connectionsUsed();
    await posted(url);
    expect(connectionsUsed()).toBe(used);
    expect(await posted(`http://moving.test:${other.port}/moving`)).toMatchObject({
      kind: 'failed',
      reason: 'address-not-allowed',
    });
    expect(other.connections).toBe(0);
  } finally {
    await sender.close();
    await other.stop();
  }
});

it('a webhook follows no redirect', async () => {
  receiver.behave('/from', {
    kind: 'redirect',
    status: 307,
    to: `http://127.0.0.1:${receiver.port}/to`,
  });
  expect(await post(`http://127.0.0.1:${receiver.port}/from`, THIS_RECEIVER)).toBe(307);
  expect(receiver.receivedAt('/to')).toEqual([]);
});

it('a range of the operator opens its own addresses only, as IPv4 in IPv6 too', async () => {
  const guard = guardWith([
    { address: '10.1.0.0', prefix: 16, family: 'ipv4' },
    { address: 'fd00:1::', prefix: 32, family: 'ipv6' },
  ]);
  const kindOf = async (host: string) => (await guard.check(`http://${host}/`)).kind;
  for (const host of ['10.1.2.3', '[::ffff:10.1.2.3]', '[fd00:1::5]', '8.8.8.8'])
    expect([host, await kindOf(host)]).toEqual([host, 'allowed']);
  for (const host of ['10.2.0.1', '[fd00:2::5]', '127.0.0.1', '[::10.1.2.3]', 'localhost'])
    expect([host, await kindOf(host)]).toEqual([host, 'not-allowed']);
});

it('a range of the operator of one loopback address opens localhost at that address', async () => {
  const attempts = watchConnectionAttempts(receiver);
  expect(await post(`http://localhost:${receiver.port}/local`, THIS_RECEIVER)).toBe(200);
  attempts.stop();
  expect(new Set(attempts.addresses)).toEqual(new Set(['127.0.0.1']));
});
