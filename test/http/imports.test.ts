import { eventually } from '../support/embedded.js';
import { basic } from '../support/api-client.js';
import { makeOperators, useSharedService } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

const running = useSharedService();
const keys = openOnce(() =>
  makeOperators(running.stores, { fay: ['finance'], sam: ['support'], vic: ['viewer'] }),
);

interface Sent {
  readonly as?: 'fay' | 'sam' | 'vic';
  readonly file?: string | ReadableStream;
  readonly type?: string;
}

async function send(
  method: string,
  path: string,
  { as = 'sam', file, type = 'text/csv' }: Sent = {},
) {
  const response = await fetch(`${running.service.origin}/operations/imports/${path}`, {
    method,
    headers: {
      authorization: basic(`:${keys[as]}`),
      ...(file !== undefined && { 'content-type': type }),
    },
    ...(file !== undefined && { body: file, duplex: 'half' }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('application/json');
  const body = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
  return { status: response.status, text, body, headers: response.headers };
}

async function ended(tenant: string, id: unknown): Promise<Record<string, unknown>> {
  let shown: Record<string, unknown> = {};
  await eventually(async () => {
    shown = (await send('GET', `${tenant}/${String(id)}`)).body;
    return shown['state'] !== 'running';
  });
  return shown;
}

const USERS = 'id,accountId,email,accountStatus\nu1,a1,u1@moved.example,PAID\nu2,a1,no address,\n';

test('an uploaded file is imported, and its rejected rows can be downloaded', async () => {
  const { alias } = await running.service.createTenant();
  const begun = await send('POST', `${alias}/users`, { file: USERS });
  expect([begun.status, begun.headers.get('location')]).toEqual([
    202,
    `/operations/imports/${alias}/${String(begun.body['id'])}`,
  ]);
  const done = await ended(alias, begun.body['id']);
  const result = { kind: 'users', rows: 2, imported: 1, unchanged: 0, rejected: 1, control: [] };
  expect(done).toMatchObject({
    id: begun.body['id'],
    kind: 'users',
    mode: 'live',
    dryRun: false,
    by: 'sam',
    state: 'done',
    progress: { done: 2, total: 2, secondsLeft: null },
    result,
    error: null,
  });
  const rejected = await send('GET', `${alias}/${String(done['id'])}/rejected`, { as: 'fay' });
  expect([rejected.status, rejected.headers.get('content-type')]).toEqual([
    200,
    'text/csv; charset=utf-8',
  ]);
  expect(rejected.text).toMatch(
    /^id,accountId,email,accountStatus,line,reason\nu2,a1,no address,,3,BAD_REQUEST: /,
  );
  const { body: list } = await send('GET', alias, { as: 'fay' });
  expect(list).toEqual([done]);
  expect((await send('GET', `${alias}?mode=test`)).body).toEqual([]);
});

test('a JSON lines file of any size arrives in pieces, here for a dry run', async () => {
  const { alias } = await running.service.createTenant();
  const padding = 'x'.repeat(60_000);
  const file = new ReadableStream({
    start(controller) {
      for (let n = 0; n < 40; n += 1)
        controller.enqueue(
          Buffer.from(`${JSON.stringify({ id: `u${n}`, accountId: 'a', unknown: padding })}\n`),
        );
      controller.close();
    },
  });
  const { status, body } = await send('POST', `${alias}/users?dryRun=true&mode=test`, {
    file,
    type: 'application/x-ndjson',
  });
  expect(status).toBe(202);
  expect(await ended(alias, body['id'])).toMatchObject({
    dryRun: true,
    mode: 'test',
    result: { rows: 40, imported: 40 },
  });
});

test('users and referrals are imported by support, rewards by finance, and no one else', async () => {
  const { alias } = await running.service.createTenant();
  const status = async (as: Sent['as'], kind: string) =>
    (await send('POST', `${alias}/${kind}`, { as: as ?? 'sam', file: 'x' })).status;
  expect([await status('fay', 'users'), await status('fay', 'referrals')]).toEqual([403, 403]);
  expect([await status('sam', 'rewards'), await status('vic', 'users')]).toEqual([403, 403]);
  expect(await status('fay', 'rewards')).toBe(202);
});

test.each<[string, string, Sent, number, string]>([
  [
    'another content type',
    'users',
    { file: '{}', type: 'application/json' },
    415,
    'UNSUPPORTED_MEDIA_TYPE',
  ],
  ['an empty body', 'users', { file: '' }, 400, 'BAD_REQUEST'],
  ['a map to an unknown field', 'users?map=Mail%3Dmail', { file: 'x' }, 400, 'BAD_REQUEST'],
  ['an unknown parameter', 'users?dry=true', { file: 'x' }, 400, 'BAD_REQUEST'],
])('%s is refused', async (_, path, sent, status, code) => {
  const { alias } = await running.service.createTenant();
  const answer = await send('POST', `${alias}/${path}`, sent);
  expect([answer.status, answer.body['apiErrorCode']]).toEqual([status, code]);
  expect((await send('GET', alias)).body).toEqual([]);
});

test('an unknown tenant and an unknown import are not found', async () => {
  const { alias } = await running.service.createTenant();
  const { alias: other } = await running.service.createTenant();
  const { body } = await send('POST', `${other}/users`, { file: USERS });
  await ended(other, body['id']);
  const code = async (method: string, path: string, sent: Sent = {}) =>
    (await send(method, path, sent)).body['apiErrorCode'];
  expect(await code('POST', 'nothing/users', { file: 'x' })).toBe('TENANT_NOT_FOUND');
  for (const id of ['x', String(body['id'])])
    expect([
      await code('GET', `${alias}/${id}`),
      await code('GET', `${alias}/${id}/ids`),
      await code('POST', `${alias}/${id}/cancel`),
      await code('POST', `${alias}/${id}/continue`),
    ]).toEqual(Array.from({ length: 4 }, () => 'IMPORT_NOT_FOUND'));
});

test('a cancelled import continues where it was', async () => {
  const { alias } = await running.service.createTenant();
  const rows = Array.from({ length: 400 }, (_, n) => `u${n},a${n}\n`).join('');
  const { body } = await send('POST', `${alias}/users`, { file: `id,accountId\n${rows}` });
  const id = String(body['id']);
  const path = `${alias}/${id}`;
  expect((await send('POST', `${path}/cancel`, { as: 'fay' })).status).toBe(403);
  expect((await send('POST', `${path}/cancel`)).status).toBe(200);
  expect(await ended(alias, id)).toMatchObject({
    state: 'cancelled',
    error: expect.stringMatching(/^stopped: \d+ rows were imported/),
  });
  expect((await send('POST', `${path}/continue`)).status).toBe(202);
  expect(await ended(alias, id)).toMatchObject({
    state: 'done',
    result: { rows: 400, rejected: 0 },
  });
  expect((await send('POST', `${path}/continue`)).status).toBe(400);
});

test('an erasure removes uploaded files and rejected rows of its tenant and mode', async () => {
  const { alias, live } = await running.service.createTenant();
  await live.post('/open/account/gone/user/gone', { id: 'gone', accountId: 'gone' });
  const { body } = await send('POST', `${alias}/users`, { file: USERS });
  const path = `${alias}/${String(body['id'])}`;
  await ended(alias, body['id']);
  expect((await send('GET', `${path}/rejected`)).status).toBe(200);
  await live.call('DELETE', '/open/account/gone/user/gone');
  await eventually(async () => (await send('GET', `${path}/rejected`)).status === 404);
  expect(await ended(alias, body['id'])).toMatchObject({ result: { imported: 1 } });
});

test('after the removal of test data an import is listed, and an erasure takes its rows', async () => {
  const { alias, test: api } = await running.service.createTenant();
  const clock = `/tenants/${alias}/clock`;
  const sam = running.service.operator(keys.sam);
  expect((await sam.call('POST', clock, { resetWithData: true })).status).toBe(200);
  const { body } = await send('POST', `${alias}/users?mode=test`, { file: USERS });
  const done = await ended(alias, body['id']);
  expect(done).toMatchObject({ mode: 'test', state: 'done', result: { rejected: 1 } });
  expect((await send('GET', `${alias}?mode=test`)).body).toEqual([done]);
  const rejected = `${alias}/${String(body['id'])}/rejected`;
  expect((await send('GET', rejected)).status).toBe(200);
  await api.post('/open/account/gone/user/gone', { id: 'gone', accountId: 'gone' });
  await api.call('DELETE', '/open/account/gone/user/gone');
  await eventually(async () => (await send('GET', rejected)).status === 404);
});
