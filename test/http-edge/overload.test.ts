import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { clientAddress, trustOf } from '../../src/http/edge/client-address.js';
import { FailedCredentials } from '../../src/http/limits/call-limit.js';
import { WindowCounts } from '../../src/http/limits/window-counts.js';
import { eventually } from '../support/embedded.js';
import { API, basic, LIVE, sampleOfTest, type SampleApp } from './sample-app.js';

/** What the connections, slow clients and wrong credentials of some clients cost the others. */

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
const start = sampleOfTest();

const address = (n: number): string => `127.0.0.${n}`;
const head = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${LIVE.authorization}\r\n${more}\r\n`;

/** Connects from an address of the loopback network and sends, without reading what is answered. */
async function hold({ port }: SampleApp, from: string, sent: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  if (sent !== '') socket.write(sent);
  return socket;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function ask(
  { port }: SampleApp,
  path: string,
  { from = address(1), headers = LIVE }: { from?: string; headers?: Record<string, string> } = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', localAddress: from, path, headers, agent: false };
    httpRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      const { statusCode: status = 0 } = response;
      response.on('end', () => resolve({ status, headers: response.headers, text }));
    })
      .on('error', reject)
      .end();
  });
}

const statusOf = async (...asked: Parameters<typeof ask>): Promise<number> =>
  (await ask(...asked)).status;

async function metric(started: SampleApp, name: string): Promise<number> {
  const { text } = await ask(started, '/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? 0);
}

const ended = (started: SampleApp, why: string): Promise<number> =>
  metric(started, `http_connections_ended_total{why="${why}"}`);

test('clients that do not read their answers hold no place among requests, and lose their connections', async () => {
  const started = await start({ inFlightMax: 8, unreadMs: 300 });
  const megabyte = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const echo = head(
    'POST',
    `${API}/echo`,
    `Content-Type: application/json\r\nContent-Length: ${megabyte.length}\r\n`,
  );
  const holders = await Promise.all(
    [2, 3, 4].map((n) => hold(started, address(n), (echo + megabyte).repeat(24))),
  );
  const closed = holders.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  await eventually(async () => started.edge.inFlight >= 3);
  expect(await statusOf(started, `${API}/whoami`)).toBe(200);
  await eventually(async () => (await ended(started, 'unread')) === 3);
  // What was sent before is still there to be read; then the end is seen.
  for (const socket of holders) socket.resume();
  await Promise.all(closed);
  await eventually(async () => started.edge.inFlight === 0);
});

test('a client that waits for its answer longer than one may leave it unread keeps its connection', async () => {
  const started = await start({ unreadMs: 50 });
  const open = started.sample.close();
  const answer = ask(started, `${API}/slow`);
  await eventually(async () => started.sample.entered.includes('slow'));
  await once(started.app.getHttpServer(), 'timeout');
  open();
  expect((await answer).status).toBe(200);
});

test('a body that arrives slowly holds no place among requests', async () => {
  const started = await start({ inFlightMax: 2 });
  const begun = `${head('POST', `${API}/echo`, 'Content-Length: 100\r\n')}{"a":`;
  await Promise.all(Array.from({ length: 4 }, () => hold(started, address(2), begun)));
  await eventually(async () => started.edge.inFlight === 4);
  expect(await statusOf(started, `${API}/whoami`)).toBe(200);
});

test('hundreds of pipelined requests are answered, each in its turn', async () => {
  const started = await start({});
  const socket = await hold(started, address(2), head('GET', '/no').repeat(500));
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
  await eventually(async () => received.split('HTTP/1.1 404').length === 501);
});

test('a client whose socket was reset before its address was known has a request that fails for no other client', async () => {
  const started = await start({});
  const server: Server = started.app.getHttpServer();
  server.prependListener('connection', (socket: Socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
  );
  expect(await statusOf(started, `${API}/whoami`)).toBe(200);
});

test('a client whose socket was reset before its address was known counts as no address and is no proxy', () => {
  expect(clientAddress({ ip: undefined, raw: { socket: {} } } as never)).toBe('');
  const anyone = trustOf([{ address: '0.0.0.0', prefix: 0, family: 'ipv4' }]);
  expect([anyone(undefined), anyone('192.0.2.7')]).toEqual([false, true]);
});

test.each([
  ['without a request', ''],
  ['with the beginning of a head', 'GET / HTTP/1.1\r\nHo'],
  ['with a request in progress', head('GET', `${API}/slow`)],
])(
  'however many connections twelve addresses hold, another is served (%s)',
  async (_name, sent) => {
    const connections = { connectionsMax: 52, connectionsPerAddressMax: 4 };
    const started = await start({ ...connections, atWorkMax: 60, inFlightMax: 100 });
    const open = started.sample.close();
    const twelve = Array.from({ length: 12 }, (_, n) => address(n + 2));
    for (let n = 0; n < 6; n++) await Promise.all(twelve.map((from) => hold(started, from, sent)));
    const other = { headers: { authorization: basic(':LIVE_payments') } };
    expect(await statusOf(started, '/api/v1/payments/whoami', other)).toBe(200);
    await eventually(async () => (await metric(started, 'http_connections')) === 49);
    await eventually(async () => (await ended(started, 'turned-away')) === 24);
    await expect(ask(started, '/health/live', { from: address(2) })).rejects.toThrow();
    open();
  },
);

const limits = { atWorkMax: 3, inFlightMax: 7 };
const other = { headers: { authorization: basic(':LIVE_payments') } };

test('requests over the limit of a tenant are refused before their route is looked for, and another tenant is served', async () => {
  const started = await start(limits);
  const open = started.sample.close();
  const answered: number[] = [];
  const crowd = Array.from({ length: 9 }, async () => {
    answered.push(await statusOf(started, `${API}/slow`));
  });
  // Three are worked on, and two wait: half of the queue.
  await eventually(async () => answered.length === 4);
  expect(answered).toEqual([503, 503, 503, 503]);
  expect(await statusOf(started, `${API}/slow/nowhere`)).toBe(404);
  const quiet = statusOf(started, '/api/v1/payments/whoami', other);
  open();
  expect(await quiet).toBe(200);
  await Promise.all(crowd);
  expect(answered.filter((status) => status === 200)).toHaveLength(5);
});

test('requests over the limit of all tenants are refused, at unknown paths and by open endpoints, too', async () => {
  const started = await start({ inFlightMax: 1 });
  const open = started.sample.close();
  const first = statusOf(started, `${API}/slow`);
  await eventually(async () => started.sample.entered.includes('slow'));
  for (const path of ['/nowhere', `${API}/open/whoami`, '/api/v1/missing/whoami']) {
    const { status, headers, text } = await ask(started, path);
    expect([path, status, headers['retry-after']]).toEqual([path, 503, '1']);
    expect(JSON.parse(text)).toMatchObject({ apiErrorCode: 'UNAVAILABLE' });
    const origin = path.includes('/open/') ? '*' : undefined;
    expect(headers['access-control-allow-origin']).toBe(origin);
  }
  expect(await statusOf(started, '/health/live')).toBe(200);
  expect(await metric(started, 'http_requests_in_flight')).toBe(2);
  open();
  expect(await first).toBe(200);
});

const wrong = { authorization: basic(':wrong') };
const forged = { 'x-saasquatch-user-token': 'a.b.c' };

test('failed credentials beyond the limit of their address are answered with 429, and good ones pass', async () => {
  const started = await start({}, [], { failures: new FailedCredentials(3) });
  const get = (headers: Record<string, string>, from = address(1)) =>
    ask(started, `${API}/whoami`, { headers, from });
  for (const headers of [wrong, forged, wrong]) expect((await get(headers)).status).toBe(401);
  for (const headers of [wrong, forged]) {
    const { status, headers: fields, text } = await get(headers);
    expect([status, fields['ratelimit-policy']]).toEqual([429, '"failed-credentials";q=3;w=60']);
    expect(JSON.parse(text)).toMatchObject({ apiErrorCode: 'RATE_LIMITED', rsCode: 'RS033' });
    expect(Number(fields['retry-after'])).toBeGreaterThan(0);
    expect(Number(fields['retry-after'])).toBeLessThanOrEqual(60);
  }
  expect((await get(LIVE)).status).toBe(200);
  // No credentials are none that failed.
  expect((await get({})).status).toBe(401);
  expect((await get(wrong, address(2))).status).toBe(401);
});

test('failed credentials are counted again after their minute, per address', () => {
  let now = 5_000;
  const failures = new FailedCredentials(2, new WindowCounts(() => now));
  const limited = (from: string) => failures.count(from)?.headers['Retry-After'];
  expect([limited('a'), limited('a'), limited('b')]).toEqual([undefined, undefined, undefined]);
  now += 59_000;
  expect([limited('a'), limited('b'), limited('b')]).toEqual(['1', undefined, '1']);
  now += 1_000;
  expect([limited('a'), limited('a'), limited('a')]).toEqual([undefined, undefined, '60']);
});
