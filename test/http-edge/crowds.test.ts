import { randomBytes, randomUUID } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { clientAddress, countedAddress, trustOf } from '../../src/http/edge/client-address.js';
import { Exchanges } from '../../src/http/edge/exchanges.js';
import { Clock } from '../process/support/clock.js';
import { enterWorld } from '../../src/foundation/world.js';
import { FailedCredentials } from '../../src/http/edge/failed-credentials.js';
import { HeldRefusals } from '../../src/http/edge/held-refusals.js';
import { eventually } from '../support/embedded.js';
import { API, basic, LIVE, startSampleApp, type SampleApp } from './sample-app.js';

/** What many connections, slow clients and wrong credentials of some cost the others. */

const apps: SampleApp[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const { app } of apps.splice(0)) await app.close();
});

async function start(limits: Parameters<typeof startSampleApp>[0]): Promise<SampleApp> {
  const started = await startSampleApp(limits);
  apps.push(started);
  return started;
}

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

/** How often the text has arrived by now. */
function counted(socket: Socket, text: string): () => number {
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
  return () => received.split(text).length - 1;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request on a connection of its own. */
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

function closeGate({ sample }: SampleApp): () => void {
  let open = (): void => undefined;
  sample.gate = new Promise((resolve) => (open = resolve));
  return open;
}

async function metric(started: SampleApp, name: string): Promise<number> {
  const { text } = await ask(started, '/metrics');
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  );
}

const ended = (started: SampleApp, why: string): Promise<number> =>
  metric(started, `http_connections_ended_total{why="${why}"}`);

test('clients that do not read their answers hold no place among requests, and lose their connections', async () => {
  const started = await start({ inFlightMax: 2, unreadMs: 300, timeoutCheckMs: 20 });
  const megabyte = JSON.stringify('x'.repeat(1_000_000));
  const echo = head(
    'POST',
    `${API}/echo`,
    `Content-Type: application/json\r\nContent-Length: ${megabyte.length}\r\n`,
  );
  const holders = await Promise.all(
    [2, 3, 4].map((n) => hold(started, address(n), (echo + megabyte).repeat(16))),
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

test('answers that nobody reads are limited by their bytes: the address with most of them loses a connection', async () => {
  const path = '/docs/viewer.js';
  const started = await start({ unreadMs: 600_000, unreadBytesMax: 24_000_000 });
  const { length } = (await ask(started, path)).text;
  const pages = head('GET', path).repeat(8);
  // Some 11 MB each; the network takes the first ones.
  const oldest = await hold(started, address(3), pages);
  await eventually(async () => (await metric(started, 'http_requests_in_flight')) > 4);
  await Promise.all([2, 2, 2].map((n) => hold(started, address(n), pages)));
  await eventually(async () => (await ended(started, 'unread')) === 2);
  expect(await statusOf(started, `${API}/whoami`)).toBe(200);
  let bytes = 0;
  oldest.on('data', (piece) => (bytes += piece.length));
  await eventually(async () => bytes > 8 * length);
});

test('a body that arrives slowly holds no place among requests', async () => {
  const started = await start({ inFlightMax: 2 });
  const begun = `${head('POST', `${API}/echo`, 'Content-Length: 100\r\n')}{"a":`;
  await Promise.all(Array.from({ length: 4 }, () => hold(started, address(2), begun)));
  await eventually(async () => started.edge.inFlight === 4);
  expect(await statusOf(started, `${API}/whoami`)).toBe(200);
});

describe('requests that one connection sends without the answers to earlier ones', () => {
  test('sixteen are answered, and with one more the connection ends and the others are not looked at', async () => {
    const started = await start({});
    const open = closeGate(started);
    const slow = head('GET', `${API}/slow`);
    const enough = await hold(started, address(2), slow.repeat(16));
    const answers = counted(enough, 'HTTP/1.1 200');
    await eventually(async () => started.edge.inFlight === 16);
    const flood = await hold(started, address(3), slow.repeat(16) + head('GET', '/no').repeat(500));
    await eventually(async () => (await ended(started, 'pipelined')) === 1);
    await eventually(async () => started.edge.inFlight === 16);
    flood.resume();
    await new Promise((resolve) => (flood.closed ? resolve(0) : flood.once('close', resolve)));
    const refused = 'http_refusals_total{code="NOT_FOUND"}';
    expect(await metric(started, refused)).toBe(0);
    open();
    await eventually(async () => answers() === 16);
    await eventually(async () => started.edge.inFlight === 0);
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
    expect(await ended(started, 'pipelined')).toBe(1);
  });

  test('are not even made into requests behind the one that ends the connection', async () => {
    const started = await start({});
    const looked = jest.spyOn(Exchanges.prototype, 'isDropped');
    const flood = await hold(started, address(3), head('GET', '/no').repeat(500));
    flood.resume();
    await eventually(async () => (await ended(started, 'pipelined')) === 1);
    const ofFlood = looked.mock.calls.filter(([{ url }]) => url === '/no');
    looked.mockRestore();
    expect(ofFlood).toHaveLength(17);
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
  });

  test('are not limited when their answers are taken', async () => {
    const started = await start({});
    const socket = await hold(started, address(2), '');
    const answers = counted(socket, 'HTTP/1.1 404');
    const all = new Promise((resolve, reject) => {
      socket.once('close', () => reject(new Error(`closed after ${answers()} answers`)));
      let sent = 10;
      socket.on('data', () => {
        if (answers() >= 200) resolve(answers());
        socket.write(head('GET', '/no').repeat(answers() + 10 - sent));
        sent = answers() + 10;
      });
    });
    socket.write(head('GET', '/no').repeat(10));
    await all;
    expect(await ended(started, 'pipelined')).toBe(0);
  });

  test('end the connection also where each expects something', async () => {
    const started = await start({});
    const open = closeGate(started);
    const expecting = head('GET', '/no', 'Expect: nothing\r\n').repeat(500);
    await hold(started, address(2), head('GET', `${API}/slow`).repeat(16) + expecting);
    await eventually(async () => (await ended(started, 'pipelined')) === 1);
    await eventually(async () => started.edge.inFlight === 0);
    open();
    expect(await metric(started, 'http_refusals_total{code="BAD_REQUEST"}')).toBe(0);
  });
});

describe('a client whose socket was reset before its address was known', () => {
  test('has a request that fails for nobody', async () => {
    const started = await start({});
    const server: Server = started.app.getHttpServer();
    server.prependListener('connection', (socket: Socket) =>
      Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
    );
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
  });

  test('counts as no address and is no proxy', () => {
    expect(clientAddress({ ip: undefined, raw: { socket: {} } })).toBe('');
    const anyone = trustOf([{ address: '0.0.0.0', prefix: 0, family: 'ipv4' }]);
    expect([anyone(undefined), anyone('192.0.2.7')]).toEqual([false, true]);
  });
});

test('a turn that fails is an answer with 500', async () => {
  const started = await start({});
  const admit = jest.spyOn(Exchanges.prototype, 'admit').mockRejectedValue(new Error('broken'));
  try {
    expect(await statusOf(started, `${API}/whoami`)).toBe(500);
  } finally {
    admit.mockRestore();
  }
});

describe('however many connections one address or twelve hold', () => {
  const limits = { connectionsMax: 13, connectionsPerAddressMax: 4 };
  const twelve = Array.from({ length: 12 }, (_, n) => address(n + 2));

  test.each([
    ['without a request', ''],
    ['with the beginning of a head', 'GET / HTTP/1.1\r\nHo'],
    ['with a request in progress', head('GET', `${API}/slow`)],
    ['with answers that are not read', head('GET', '/docs/viewer.js').repeat(8)],
  ])('another one is served (%s)', async (_name, sent) => {
    const started = await start(limits);
    const open = closeGate(started);
    for (let n = 0; n < 6; n++) await Promise.all(twelve.map((from) => hold(started, from, sent)));
    for (let n = 0; n < 5; n++) {
      expect(await statusOf(started, `${API}/whoami`)).toBe(200);
      await Promise.all(twelve.map((from) => hold(started, from, sent)));
    }
    expect(await metric(started, 'http_connections')).toBeLessThanOrEqual(13);
    const replaced = await ended(started, 'replaced');
    expect(replaced + (await ended(started, 'unread'))).toBeGreaterThan(0);
    open();
  });

  test('an address at its limit replaces idle connections of its own, and with none is refused, but for health', async () => {
    const started = await start(limits);
    const open = closeGate(started);
    const slow = head('GET', `${API}/slow`);
    await Promise.all([1, 2, 3].map(() => hold(started, address(2), slow)));
    await hold(started, address(2), '');
    await eventually(async () => started.sample.entered.length === 3);
    const whoAmI = () => ask(started, `${API}/whoami`, { from: address(2) });
    expect((await whoAmI()).status).toBe(200);
    await hold(started, address(2), slow);
    await eventually(async () => started.sample.entered.length === 4);
    const refused = await whoAmI();
    expect([refused.status, refused.headers.connection, refused.headers['retry-after']]).toEqual([
      503,
      'close',
      '1',
    ]);
    expect(JSON.parse(refused.text)).toMatchObject({ apiErrorCode: 'UNAVAILABLE' });
    expect(await statusOf(started, '/health/live', { from: address(2) })).toBe(200);
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
    expect(await ended(started, 'turned-away')).toBe(2);
    open();
    await eventually(async () => (await whoAmI()).status === 200);
  });
});

describe('an address with very many requests in progress', () => {
  const limits = { atWorkMax: 4, inFlightMax: 8 };
  const other = { headers: { authorization: basic(':LIVE_payments') } };

  test('costs other tenants nothing, and has its newest requests refused', async () => {
    const started = await start(limits);
    const open = closeGate(started);
    const answered: number[] = [];
    const crowd = Array.from({ length: 12 }, async () => {
      answered.push(await statusOf(started, `${API}/slow`, { from: address(2) }));
    });
    // Refusals may be held for a moment.
    await eventually(async () => started.sample.entered.length === 3 && answered.length === 5);
    // Three are worked on and four wait, the others were refused; a slot is left for newcomers.
    for (let n = 0; n < 3; n++)
      expect(await statusOf(started, '/api/v1/payments/whoami', other)).toBe(200);
    open();
    await Promise.all(crowd);
    expect(answered).toEqual([...Array<number>(5).fill(503), ...Array<number>(7).fill(200)]);
  });

  test('has one of them refused for another address of its tenant', async () => {
    const started = await start(limits);
    const open = closeGate(started);
    let refused = 0;
    const crowd = Array.from({ length: 12 }, async () => {
      if ((await statusOf(started, `${API}/slow`, { from: address(2) })) === 503) refused += 1;
    });
    await eventually(async () => started.sample.entered.length === 3 && refused === 5);
    const whoAmI = statusOf(started, `${API}/whoami`, { from: address(3) });
    await eventually(async () => refused === 6);
    open();
    expect(await whoAmI).toBe(200);
    await Promise.all(crowd);
    expect(refused).toBe(6);
  });
});

describe('failed credentials', () => {
  const wrong = { authorization: basic(':wrong') };
  const forged = { 'x-saasquatch-user-token': 'a.b.c' };

  test('beyond the limit of their address are answered with 429, and good ones pass', async () => {
    const started = await start({ failedCredentialsPerMinute: 3 });
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

  test('are counted again when their minute is over, each address by itself', () => {
    let now = 5_000;
    const failures = new FailedCredentials(2, () => now);
    const limited = (from: string) => failures.count(from)?.headers['Retry-After'];
    expect([limited('a'), limited('a'), limited('b')]).toEqual([undefined, undefined, undefined]);
    now += 59_000;
    expect([limited('a'), limited('b'), limited('b')]).toEqual(['1', undefined, '1']);
    now += 1_000;
    expect([limited('a'), limited('a'), limited('a')]).toEqual([undefined, undefined, '60']);
  });
});

describe('what unknown callers are refused', () => {
  const anonymous = `GET ${API}/whoami HTTP/1.1\r\nHost: x\r\n\r\n`;
  const refused = { headers: {} };
  /** Deadlines are longer. */
  const HELD_MS_MAX = 3_000;
  /** Sends what is held. */
  let held: (() => void)[];
  let leave: () => void;
  beforeEach(() => {
    held = [];
    leave = enterWorld({
      now: () => Date.now(),
      elapsed: () => performance.now(),
      after: (ms, call) => {
        // Nothing else waits for a multiple of that, but the end of a request's time.
        const isHeld = ms % 100 === 0 && ms < HELD_MS_MAX;
        if (isHeld) held.push(call);
        const timer = isHeld ? undefined : setTimeout(call, ms).unref();
        return () => clearTimeout(timer);
      },
      uuid: () => randomUUID(),
      bytes: (length) => randomBytes(length),
      below: () => 0,
    });
  });
  afterEach(() => leave());

  test.each([
    ['without credentials', `${API}/whoami`, {}, 401],
    ['with wrong ones', `${API}/whoami`, { authorization: basic(':wrong') }, 401],
    ['of an unknown tenant', '/api/v1/nobody/whoami', LIVE, 404],
    ['at an unknown path', '/nothing', LIVE, 404],
  ])(
    'is held beyond the limit of their address (%s), and good callers behind it are answered',
    async (_name, path, headers, status) => {
      const started = await start({ failedCredentialsPerMinute: 2 });
      for (let n = 0; n < 2; n++)
        expect(await statusOf(started, `${API}/whoami`, refused)).toBe(401);
      const answer = statusOf(started, path, { headers });
      await eventually(async () => held.length === 1);
      expect(await statusOf(started, `${API}/whoami`)).toBe(200);
      expect(await statusOf(started, `${API}/account/missing`)).toBe(404);
      expect(await statusOf(started, `${API}/whoami`, { ...refused, from: address(2) })).toBe(401);
      expect(held).toHaveLength(1);
      held[0]?.();
      expect(await answer).toBe(status);
    },
  );

  test('takes no place while it is held', async () => {
    const started = await start({ failedCredentialsPerMinute: 1, inFlightMax: 1 });
    const socket = await hold(started, address(1), anonymous);
    const answers = counted(socket, 'HTTP/1.1 401');
    await eventually(async () => answers() === 1);
    for (let n = 1; n < 9; n++) {
      socket.write(anonymous);
      await eventually(async () => held.length === n);
    }
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
    for (const send of held) send();
    await eventually(async () => answers() === 9);
  });

  test('is sent 200 times a second to an address, however many it has', () => {
    const clock = new Clock();
    enterWorld(clock.world);
    const refusals = new HeldRefusals(0);
    const sent: string[] = [];
    let dropped = 0;
    const refuse = (from: string, times: number): void => {
      for (let n = 0; n < times; n++)
        refusals.take(from, {
          send: () => sent.push(from),
          onHeld: () => undefined,
          onDropped: () => (dropped += 1),
        });
    };
    refuse('a', 401);
    refuse('b', 1);
    expect([sent.length, dropped]).toEqual([0, 1]);
    clock.forward(100);
    expect(sent.filter((from) => from === 'a')).toHaveLength(20);
    expect(sent).toContain('b');
    // Whoever asks again at once queues behind those that wait.
    for (let step = 2; step <= 30; step++) {
      refuse('a', 20);
      clock.forward(100);
    }
    expect(sent.filter((from) => from === 'a')).toHaveLength(600);
    expect(dropped).toBe(1);
    for (const from of ['b', 'c', 'd']) refuse(from, 400);
    expect(dropped).toBe(1 + 400 + 1_200 - 1_024 - 20);
  });

  test('ends the connection beyond what is held of its address', async () => {
    const started = await start({ failedCredentialsPerMinute: 1 });
    expect(await statusOf(started, `${API}/whoami`, refused)).toBe(401);
    const crowd = await Promise.all(
      Array.from({ length: 26 }, () => hold(started, address(1), anonymous.repeat(16))),
    );
    await eventually(async () => (await ended(started, 'refused')) > 0);
    for (const socket of crowd) socket.resume();
    await eventually(async () => crowd.some(({ destroyed }) => destroyed));
    expect(await statusOf(started, `${API}/whoami`)).toBe(200);
    expect(await statusOf(started, `${API}/whoami`, { ...refused, from: address(2) })).toBe(401);
  });
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['no address', 'no address'],
])('%s counts as %s', (given, counted) => {
  expect(countedAddress(given)).toBe(counted);
});
