import { once } from 'node:events';
import { type IncomingMessage, createServer, type Server } from 'node:http';
import type { Party } from '../../src/foundation/fair-slots.js';
import type { AccessRule } from '../../src/http/edge/access.js';
import { HEAD_BYTES_MAX, TARGET_BYTES_MAX } from '../../src/http/edge/broken-messages.js';
import { trustOf } from '../../src/http/edge/client-address.js';
import { HeadRefusals, type HeadRefusal } from '../../src/http/edge/head-refusals.js';
import { RouteTable } from '../../src/http/edge/route-table.js';
import { sendRaw } from '../support/raw-http.js';
import { API, LIVE, startSampleApp } from './sample-app.js';

const NODE_LIMITS = { requireHostHeader: false, maxHeaderSize: HEAD_BYTES_MAX };
const PROXIES = [{ address: '127.0.0.0', prefix: 8, family: 'ipv4' as const }];
const TRACE = '0af7651916cd43dd8448eb211c80319c';

const rule = (kind: AccessRule['kind'], more: Partial<AccessRule> = {}): AccessRule => ({
  kind,
  emptyBody: false,
  apiOnlyPrograms: false,
  ...more,
});

function routes(): RouteTable {
  const table = new RouteTable();
  table.add('GET', '/api/v1/:tenantAlias/reward/:id', rule('key'));
  table.add('POST', '/api/v1/:tenantAlias/user', rule('key'));
  table.add('GET', '/api/v1/:tenantAlias/open/user', rule('user-open'));
  table.add('GET', '/a/:tenantAlias/:code', rule('tenant'));
  table.add('GET', '/r/:tenantAlias/:code', rule('tenant', { page: true }));
  table.add('GET', '/health/live', rule('none'));
  table.add('GET', '/operations/:tenantAlias', rule('operator'));
  table.add('GET', '/console/:tenantAlias', rule('console'));
  return table;
}

interface Asked {
  readonly method?: string;
  readonly head?: readonly string[];
}

/** Answers 200 to whatever is not refused. */
class House {
  room = 0;
  isOnSpare = false;
  readonly asked: Party[] = [];
  readonly refused: HeadRefusal[] = [];
  private readonly server: Server;

  constructor(proxies = PROXIES.slice(1)) {
    const refusals = new HeadRefusals(this, routes(), trustOf(proxies));
    refusals.onRefused = (refusal) => this.refused.push(refusal);
    this.server = createServer(NODE_LIMITS, (request, response) => {
      const handle = () => response.end('framework');
      if (!refusals.refuses(request, response, handle)) handle();
    });
  }

  unfinishedOn() {
    return [];
  }

  endRefused(): void {
    throw new Error('nobody is dropped');
  }

  isOver({ socket }: IncomingMessage): boolean {
    return !socket.writable;
  }

  closesWith(): boolean {
    return true;
  }

  isSpare(): boolean {
    return this.isOnSpare;
  }

  hasRoomFor(party: Party): boolean {
    this.asked.push(party);
    return party.group === 'quiet';
  }

  async ask(target: string, { method = 'GET', head = ['Host: x'] }: Asked = {}) {
    if (!this.server.listening) await once(this.server.listen(0, '127.0.0.1'), 'listening');
    const address = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const lines = [`${method} ${target} HTTP/1.1`, ...head, 'Connection: close'];
    const [answer] = await sendRaw(address.port, `${lines.join('\r\n')}\r\n\r\n`, 1);
    if (answer === undefined) throw new Error('no answer');
    return answer;
  }

  async close(): Promise<void> {
    if (this.server.listening) await once(this.server.close(), 'close');
  }
}

const houses: House[] = [];
const house = (proxies?: typeof PROXIES): House => {
  const made = new House(proxies);
  houses.push(made);
  return made;
};
afterEach(async () => {
  for (const each of houses.splice(0)) await each.close();
});

test('a request without room is answered as by the framework, and told', async () => {
  const it_ = house();
  const answer = await it_.ask('/api/v1/acme/reward/r1?secret=1', {
    head: ['Host: x', 'Request-Id: mine', `traceparent: 00-${TRACE}-b7ad6b7169203331-01`],
  });
  expect(answer.status).toBe(503);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'retry-after': '1',
    'request-id': 'mine',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  expect(answer.json).toEqual({
    statusCode: 503,
    message: expect.any(String),
    apiErrorCode: 'UNAVAILABLE',
    rsCode: null,
  });
  expect(it_.refused).toEqual([
    {
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      traceId: TRACE,
      method: 'GET',
      route: '/api/v1/:tenantAlias/reward/:id',
      address: '127.0.0.1',
      seconds: expect.any(Number),
    },
  ]);
});

test('pages of other origins may read the refusal of an open route', async () => {
  const answer = await house().ask('/api/v1/acme/open/user');
  expect(answer.status).toBe(503);
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('Retry-After'),
  });
});

test.each([
  ['health', '/health/live', {}],
  ['a route of operators', '/operations/acme', {}],
  ['a page of the console', '/console/acme', {}],
  ['a page for visitors', '/r/acme/c1', {}],
  ['an unknown path', '/api/v1/acme/nothing', {}],
  ['another method', '/api/v1/acme/user', {}],
  ['an unknown method', '/api/v1/acme/user', { method: 'PURGE' }],
  ['a preflight', '/api/v1/acme/open/user', { method: 'OPTIONS' }],
  ['an empty parameter', '/api/v1/acme/reward/', {}],
  ['no alias', '/api/v1/Not%20one/reward/r1', {}],
  ['a target that is no encoding', '/api/v1/acme/reward/%zz', {}],
  ['a target that is too long', `/api/v1/acme/reward/${'r'.repeat(TARGET_BYTES_MAX)}`, {}],
  ['a request without Host', '/api/v1/acme/reward/r1', { head: [] }],
  ['a tenant that has room', '/api/v1/quiet/reward/r1', {}],
] as const)('%s is left to the framework', async (_, target, options) => {
  const it_ = house();
  const answer = await it_.ask(target, options);
  expect([answer.status, answer.text]).toEqual([200, 'framework']);
  expect(it_.refused).toEqual([]);
});

test('with room, or on a connection without a place, all is left to the framework', async () => {
  const it_ = house();
  it_.room = 1;
  expect((await it_.ask('/api/v1/acme/reward/r1')).status).toBe(200);
  Object.assign(it_, { room: 0, isOnSpare: true });
  expect((await it_.ask('/api/v1/acme/reward/r1')).status).toBe(200);
  expect(it_.asked).toEqual([]);
});

test('the party is the tenant with the address that trusted proxies name', async () => {
  const [direct, proxied] = [house(), house(PROXIES)];
  const head = ['Host: x', 'X-Forwarded-For: 192.0.2.9, 2001:db8:1:2:3::4 , 127.0.0.7'];
  await direct.ask('/a/acme/c1', { head });
  await proxied.ask('/api/v1/acme/reward/r1', { head });
  expect([...direct.asked, ...proxied.asked]).toEqual([
    { group: 'acme', member: '127.0.0.1', isPassing: true },
    { group: 'acme', member: '2001:db8:1:2::/64', isPassing: false },
  ]);
});

test('a refused request leaves its connection, a line and a count like one of the framework', async () => {
  const started = await startSampleApp({ inFlightMax: 1 });
  try {
    let open = (): void => undefined;
    started.sample.gate = new Promise((resolve) => (open = resolve));
    const inside = fetch(`${started.origin}${API}/slow`, { headers: LIVE });
    while (started.sample.entered.length === 0) await new Promise((done) => setImmediate(done));
    const head = `Host: x\r\nAuthorization: ${LIVE.authorization}\r\n`;
    const answers = await sendRaw(
      started.port,
      `POST ${API}/echo HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}` +
        `GET /health/live HTTP/1.1\r\n${head}\r\n`,
      2,
    );
    expect(answers.map(({ status }) => status)).toEqual([503, 200]);
    const line = started.logged.find(({ status }) => status === 503);
    expect(line).toEqual({
      level: 30,
      time: expect.any(Number),
      pid: expect.any(Number),
      hostname: expect.any(String),
      requestId: answers[0]?.headers['request-id'],
      method: 'POST',
      route: '/api/v1/:tenantAlias/echo',
      status: 503,
      code: 'UNAVAILABLE',
      durationMs: expect.any(Number),
      address: '127.0.0.0/24',
      msg: 'request',
    });
    const metrics = await (await fetch(`${started.origin}/metrics`)).text();
    expect(metrics).toMatch(/^http_refusals_total\{code="UNAVAILABLE"\} 1$/m);
    expect(metrics).toMatch(
      /^http_request_duration_seconds_count\{method="POST",route="\/api\/v1\/:tenantAlias\/echo",status="503"\} 1$/m,
    );
    open();
    expect((await inside).status).toBe(200);
  } finally {
    await started.app.close();
  }
});
