import { connect } from 'node:net';
import { loadConfig } from '../../src/config/config.js';
import { startService } from '../../src/process/service.js';
import { pino } from 'pino';
import { useService, useTenant } from '../support/running-service.js';
import { basic } from '../support/api-client.js';
import { sendRaw } from '../support/raw-http.js';

/* Over 5 s: a service of its own, with two listeners. */

const OPERATIONS_ONLY = ['/health/ready', '/metrics'];
const OF_OPERATORS = ['/operations/projections', '/console', '/console/sign-in'];
const BOTH = ['/health/live', '/docs', '/docs/start.js', '/docs/reference.css', '/openapi.json'];

const { service: running, stores } = useService(() => ({
  OPERATIONS_PORT: '0',
  CONNECTIONS_MAX: '16',
}));
const tenant = useTenant({ service: running });
let operations: string;
beforeAll(() => {
  operations = running.service.operationsUrl!;
});

const statusOf = async (url: string, init?: RequestInit): Promise<number> =>
  (await fetch(url, { redirect: 'manual', ...init })).status;

const ready = async (): Promise<number> => statusOf(`${operations}/health/ready`);

it('operators, health, metrics and docs are answered on OPERATIONS_PORT, and nothing else', async () => {
  for (const path of OF_OPERATORS) {
    expect([path, await statusOf(running.origin + path)]).toEqual([path, 404]);
    expect([path, await statusOf(operations + path)]).not.toEqual([path, 404]);
  }
  for (const path of [...BOTH, '/metrics', '/metrics/', '/health/ready?x=1'])
    expect([path, await statusOf(operations + path)]).toEqual([path, 200]);
  const key = { headers: { authorization: basic(`:${tenant.liveKey}`) } };
  const ledger = `/api/v1/${tenant.alias}/account/a`;
  expect(await statusOf(running.origin + ledger, key)).toBe(404);
  for (const path of [ledger, '/.well-known/jwks.json', `/s/${tenant.alias}/CODE`, '/nowhere']) {
    const answer = await fetch(operations + path, key);
    expect([path, answer.status, await answer.json()]).toMatchObject([
      path,
      404,
      { apiErrorCode: 'NOT_FOUND' },
    ]);
  }
  // Neither the methods of a route nor its preflight say that there is one.
  const preflight = { method: 'OPTIONS', headers: { origin: 'https://shop.example' } };
  const open = `/api/v1/${tenant.alias}/open/user`;
  expect(await statusOf(running.origin + open, preflight)).toBe(204);
  expect(await statusOf(operations + open, preflight)).toBe(404);
  expect(await statusOf(operations + ledger, { method: 'PATCH' })).toBe(404);
  expect(await statusOf(`${operations}/metrics`, { method: 'POST' })).toBe(405);
});

it('of these routes the public listener answers whether the process lives, and the docs', async () => {
  for (const path of BOTH)
    expect([path, await statusOf(running.origin + path)]).toEqual([path, 200]);
  for (const path of [...OPERATIONS_ONLY, '/metrics/', '/%6detrics', '/health/%72eady'])
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS'])
      expect([method, path, await statusOf(running.origin + path, { method })]).toEqual([
        method,
        path,
        404,
      ]);
});

it('connections of OPERATIONS_PORT take no place of the public ones', async () => {
  const { port, hostname } = new URL(running.origin);
  const taken = async (): Promise<readonly number[]> => {
    const answer = await fetch(`${operations}/metrics`, { headers: { connection: 'close' } });
    const lines = (await answer.text()).split('\n');
    const sumOf = (name: string): number =>
      lines
        .filter((line) => line.startsWith(name) && /[ {]/.test(line.charAt(name.length)))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    return [sumOf('http_connections'), sumOf('http_connections_ended_total')];
  };
  const crowd = Array.from({ length: 16 }, () => connect(Number(port), hostname));
  for (const socket of crowd) socket.on('error', () => undefined);
  try {
    // Connections of the tests before may be ended for the crowd.
    let before = await taken();
    for (let same = 0; same < 3 || before[0]! < 16;) {
      const next = await taken();
      same = String(next) === String(before) ? same + 1 : 0;
      before = next;
    }
    for (let i = 0; i < 5; i += 1) expect((await taken())[0]).toBeLessThanOrEqual(16);
  } finally {
    for (const socket of crowd) socket.destroy();
  }
});

it('messages that are no HTTP are answered on OPERATIONS_PORT as on the public one', async () => {
  const [answer] = await sendRaw(Number(new URL(operations).port), 'hello\r\n\r\n');
  expect(answer).toMatchObject({ status: 400, json: { apiErrorCode: 'BAD_REQUEST' } });
});

it('a port that is taken ends the start in an error, and leaves nothing open', async () => {
  const starting = startService({
    config: loadConfig({
      DATABASE_URL: stores.databaseUrl,
      MASTER_KEY_FILE: stores.masterKeyFile,
      DATABASE_CONNECTIONS_MAX: '23',
      PORT: '0',
      OPERATIONS_PORT: new URL(operations).port,
    }),
    logger: pino({ level: 'silent' }),
    version: '0.0.0',
  });
  await expect(starting).rejects.toThrow(/EADDRINUSE/);
  expect(await ready()).toBe(200);
});

test('every answer carries Request-Id, nosniff, and no-store unless it is a page of the docs', async () => {
  const pages = [running.origin, operations].map((origin) => `${origin}/docs`);
  const others = [`${operations}/metrics`, `${operations}/operations`, `${running.origin}/metrics`];
  for (const url of [...pages, ...others]) {
    const { headers } = await fetch(url, { headers: { 'request-id': 'mine' } });
    expect([
      url,
      headers.get('request-id'),
      headers.get('x-content-type-options'),
      headers.get('cache-control'),
    ]).toEqual([url, 'mine', 'nosniff', pages.includes(url) ? 'public, max-age=300' : 'no-store']);
  }
});

const get = (url: string, accept: string) => fetch(url, { headers: { accept } });
const linksOf = (html: string): readonly string[] =>
  [...html.matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);

test.each(['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', '*/*'])(
  'GET / is a page for clients that accept %s, with links to what the listener serves',
  async (accept) => {
    const pages = await Promise.all([get(running.origin, accept), get(operations, accept)]);
    expect(pages.map(({ headers }) => headers.get('content-type'))).toEqual(
      pages.map(() => 'text/html; charset=utf-8'),
    );
    const [outside = '', inside = ''] = await Promise.all(pages.map((page) => page.text()));
    expect(linksOf(outside)).toEqual(['/docs']);
    expect(linksOf(inside)).toEqual(['/docs', '/console', '/health/ready']);
  },
);

test('GET / is JSON with absolute addresses for clients that prefer JSON', async () => {
  const { origin } = running;
  const accept = 'application/json, text/html;q=0.5';
  const named = { name: 'referral-ledger', version: expect.any(String) as string };
  expect(await (await get(origin, accept)).json()).toEqual({
    ...named,
    docs: 'https://share.example/docs',
  });
  expect(await (await get(operations, accept)).json()).toEqual({
    ...named,
    docs: `${operations}/docs`,
    console: `${operations}/console`,
    health: `${operations}/health/ready`,
  });
});
