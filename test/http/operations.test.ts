import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeOperatorKey, Operators, type OperatorRole } from '../../src/operators.js';
import { basic } from '../support/api-client.js';
import { knownRoutes } from '../support/known-routes.js';
import { errorBody, startWithStores } from '../support/running-service.js';

let running: Awaited<ReturnType<typeof startWithStores>>;
let folder: string;
const keys: Record<'fay' | 'sam' | 'both', string> = { fay: '', sam: '', both: '' };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-operators-'));
  const roles = { fay: ['finance'], sam: ['support'], both: ['finance', 'support'] } as const;
  const entries = (Object.keys(keys) as (keyof typeof keys)[]).map((name) => {
    const { key, entry } = makeOperatorKey(name, roles[name]);
    keys[name] = key;
    return entry;
  });
  const path = join(folder, 'operators.json');
  await writeFile(path, JSON.stringify(entries));
  running = await startWithStores({ OPERATORS_FILE: path });
});
afterAll(async () => {
  await running.end();
  await rm(folder, { recursive: true, force: true });
});

const call = async (method: string, path: string, credentials?: string): Promise<{ status: number; body: unknown }> => {
  const headers: Record<string, string> = credentials === undefined ? {} : { authorization: basic(credentials) };
  const response = await fetch(`${running.service.origin}${path}`, { method, headers });
  return { status: response.status, body: await response.json() };
};

test('an operator is told whose key it is and what it opens', async () => {
  expect(await call('GET', '/operations', `anybody:${keys.fay}`)).toEqual({ status: 200, body: { name: 'fay', roles: ['finance'] } });
  expect(await call('GET', '/operations', `:${keys.both}`)).toEqual({ status: 200, body: { name: 'both', roles: ['finance', 'support'] } });
});

/** Whom each route is for. */
const ROUTES: Readonly<Record<string, readonly OperatorRole[]>> = {
  'GET /operations': ['finance', 'support'],
};

test('every route for operators stands in the table', () => {
  const known = knownRoutes(running.service).filter((route) => route.includes(' /operations'));
  expect(Object.keys(ROUTES).sort()).toEqual([...known].sort());
});

describe.each(Object.entries(ROUTES))('%s', (route, roles) => {
  const [method = '', template = ''] = route.split(' ');
  const path = template.replace(/\{\w+\}/g, 'x');

  test('is refused without a key of an operator', async () => {
    const tenant = await running.service.createTenant();
    for (const credentials of [undefined, ':', ':wrong', `:${tenant.liveKey}`, `${keys.fay}x:`]) {
      expect(await call(method, path, credentials)).toEqual({ status: 401, body: errorBody(401, 'UNAUTHORIZED') });
    }
  });

  test('is for its roles alone', async () => {
    for (const [role, key] of [
      ['finance', keys.fay],
      ['support', keys.sam],
    ] as const) {
      const { status } = await call(method, path, `:${key}`);
      expect([role, status === 403]).toEqual([role, !roles.includes(role)]);
      expect(status).not.toBe(401);
    }
  });
});

describe('the file of operators', () => {
  const of = async (content: string): Promise<unknown> => {
    const path = join(folder, 'tried.json');
    await writeFile(path, content);
    return Operators.from(path);
  };

  test.each([
    ['no JSON', '{', 'OPERATORS_FILE is no list of operators: see /'],
    ['an unknown role', '[{"name":"a","roles":["boss"],"keySha256":""}]', 'see /0/roles/0'],
    ['a key instead of its hash', '[{"name":"a","roles":["finance"],"keySha256":"operator_secret"}]', 'see /0/keySha256'],
    ['one more member', `[{"name":"a","roles":["finance"],"keySha256":"${'0'.repeat(64)}","key":"x"}]`, 'see /0'],
  ])('%s is refused in one line that shows nothing of it', async (_name, content, expected) => {
    const failure = await of(content).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'ConfigError', message: expect.stringContaining(expected) as unknown });
    expect(String(failure)).not.toContain('secret');
  });

  test('that is missing is named; none means nobody', async () => {
    await expect(Operators.from(join(folder, 'missing.json'))).rejects.toThrow('OPERATORS_FILE cannot be read: ENOENT');
    expect((await Operators.from(undefined)).find(keys.fay)).toBeUndefined();
  });
});
