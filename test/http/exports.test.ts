import { createHash } from 'node:crypto';
import { basic, type Json } from '../support/api-client.js';
import { type ShownExport as Shown } from '../support/expected-answers.js';
import { namesake } from '../support/people.js';
import { eventually } from '../support/embedded.js';
import {
  personal,
  useSharedService,
  expectRefusal,
  useTenant,
} from '../support/running-service.js';

/**
 * Exports over HTTP: from the request to the file, its life and its end. Over 5 s: files are
 * written.
 */

const running = useSharedService();
const tenant = useTenant(running, { each: true });

jest.setTimeout(180_000);

const UNKNOWN = '3d1c9d0a-9d5d-4b61-8a55-2a8a5f4f6b11';
const WITHIN_MS = 120_000;

async function ask(body: Json, client = tenant.live): Promise<Shown> {
  const { status, body: shown } = await client.post<Shown>('/export', body);
  expect([status, shown.status]).toEqual([201, 'PENDING']);
  return shown;
}

const show = async (id: string, client = tenant.live): Promise<Shown> =>
  (await client.get<Shown>(`/export/${id}`)).body;

async function over(id: string, client = tenant.live): Promise<Shown> {
  await eventually(async () => (await show(id, client)).status !== 'PENDING', WITHIN_MS);
  return show(id, client);
}

async function completed(body: Json, client = tenant.live): Promise<Shown> {
  const { id } = await ask(body, client);
  const shown = await over(id, client);
  expect(shown).toMatchObject({ status: 'COMPLETED' });
  return shown;
}

interface Download {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

async function download(
  id: string,
  headers: Readonly<Record<string, string>> = {},
  { method = 'GET', key = tenant.liveKey } = {},
): Promise<Download> {
  const response = await fetch(
    `${running.service.origin}/api/v1/${tenant.alias}/export/${id}/download`,
    { method, headers: { authorization: basic(`:${key}`), ...headers } },
  );
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

test('an export is shown as it was asked for, is written, and is downloaded', async () => {
  const id = await namesake(tenant.live, 'ann');
  const name = personal('name');
  const params = { createdBefore: '2100-01-01', createdSince: 0, programId: 4711 };
  const asked = { type: 'USER', name, requester: 'me', params };
  const requested = await ask(asked);
  const { dateCreated } = requested;
  expect(requested).toEqual({
    ...asked,
    id: requested.id,
    format: 'CSV',
    status: 'PENDING',
    dateCreated: expect.any(Number) as number,
    dateCompleted: null,
    dateExpires: Number(dateCreated) + 28 * 86_400_000,
    stats: null,
  });
  const shown = await over(requested.id);
  const { status, bytes } = await download(requested.id);
  expect(status).toBe(200);
  expect(bytes.toString().split('\n')[1]).toMatch(new RegExp(`^${id},${id},`));
  expect(shown).toEqual({
    ...requested,
    status: 'COMPLETED',
    dateCompleted: expect.any(Number) as number,
    stats: {
      position: expect.any(String) as string,
      rows: 1,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    },
  });
  expect(JSON.stringify(shown['params'])).toBe(JSON.stringify(params));
  const list = await tenant.live.get('/export/history/list');
  expect(list.body).toEqual({ count: 1, totalCount: 1, data: [shown] });
  // The position is one that the service knows.
  const atLeast = String(shown.stats?.['position']);
  expect((await tenant.live.get(`/export/${requested.id}`, { atLeast })).status).toBe(200);
});

test('an export shows the params that it was requested with, and none as {}', async () => {
  await namesake(tenant.live, 'ann');
  for (const params of [undefined, null, { createdSince: null, updatedSince: '' }])
    expect(await ask({ type: 'USER', params })).toMatchObject({ params: {} });
  const { id, ...shown } = await ask({ type: 'USER', params: { dates: 'ISO_8601' } });
  expect(shown['params']).toEqual({ dates: 'ISO_8601' });
  await over(id);
  expect((await download(id)).bytes.toString()).toContain(`,${new Date().getUTCFullYear()}-`);
});

test('an export is listed newest first, in pages', async () => {
  const ids: string[] = [];
  for (const type of ['USER', 'REWARD', 'REFERRAL']) ids.unshift((await ask({ type })).id);
  const { body } = await tenant.live.get<{ data: Shown[]; count: number; totalCount: number }>(
    '/export/history/list?limit=2&offset=1',
  );
  expect([body.count, body.totalCount]).toEqual([2, 3]);
  const dates = (await tenant.live.get<{ data: Shown[] }>('/export/history/list')).body.data;
  expect(dates.map(({ id }) => id).sort()).toEqual(ids.sort());
  expect(dates.map(({ dateCreated }) => Number(dateCreated))).toEqual(
    dates.map(({ dateCreated }) => Number(dateCreated)).sort((a, b) => b - a),
  );
  const none = await tenant.live.get('/export/history/list?limit=0');
  expect(none.body).toEqual({ count: 0, totalCount: 3, data: [] });
});

test('an export is unknown to another tenant and mode', async () => {
  const { id } = await completed({ type: 'USER' });
  const other = await running.service.createTenant();
  for (const client of [tenant.test, other.live])
    expectRefusal(await client.get(`/export/${id}`), 404, 'EXPORT_NOT_FOUND');
  for (const unknown of [UNKNOWN, 'x'])
    expectRefusal(await tenant.live.get(`/export/${unknown}/download`), 404, 'EXPORT_NOT_FOUND');
  expect((await download(id, {}, { key: tenant.testKey })).status).toBe(404);
});

test('an export with several errors names each of them', async () => {
  const params = {
    createdSince: 'x',
    updatedBefore: 1.5,
    programId: true,
    since: null,
    dates: 'DAYS',
  };
  const body = { type: 'USERS', format: 'PDF', name: 'a\nb', params };
  const answer = await tenant.live.post<{ validationErrors: string[] }>('/export', body);
  expectRefusal(answer, 400, 'BAD_REQUEST');
  const members = answer.body.validationErrors.map((line) => line.split(' ')[0] ?? '');
  expect(members.toSorted()).toEqual([
    'format',
    'name',
    'params',
    'params.createdSince',
    'params.dates',
    'params.programId',
    'params.updatedBefore',
    'type',
  ]);
  expect((await tenant.live.get('/export/history/list')).body['totalCount']).toBe(0);
});

test('a download has its type, and is not resent to a client that has it or beyond its end', async () => {
  await namesake(tenant.live, 'ann');
  const { id } = await completed({ type: 'USER', name: 'Üser/"1"' });
  const { headers, bytes } = await download(id);
  const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-length': String(bytes.length),
    'accept-ranges': 'bytes',
    'content-disposition': `attachment; filename="_ser_1_.csv"; filename*=UTF-8''%C3%9Cser_1_.csv`,
    etag,
    'x-content-type-options': 'nosniff',
  });
  for (const [tags, status] of [
    [etag, 304],
    [`W/${etag}`, 304],
    [`"x", ${etag}`, 304],
    ['*', 304],
    ['"x"', 200],
  ] as const)
    expect([tags, (await download(id, { 'if-none-match': tags })).status]).toEqual([tags, status]);
  const beyond = await download(id, { range: `bytes=${bytes.length}-` });
  expect([beyond.status, JSON.parse(beyond.bytes.toString())]).toMatchObject([
    416,
    { apiErrorCode: 'BAD_REQUEST' },
  ]);
});

test('The first piece of a download leaves one row for an export and key; an answer without content leaves none.', async () => {
  await namesake(tenant.live, 'ann');
  const { id } = await completed({ type: 'USER' });
  const { headers } = await download(id, {}, { method: 'HEAD' });
  await download(id, { 'if-none-match': headers.get('etag') ?? '' });
  const rows = async () => {
    const found = await running.service.service.core.pool.query<Json>(
      'select tenant, mode, actor_kind, request_id from ledger.export_downloads where export_id = $1',
      [id],
    );
    return found.rows;
  };
  expect(await rows()).toEqual([]);
  const requestId = (await download(id, { range: 'bytes=0-9' })).headers.get('request-id');
  await download(id, { range: 'bytes=10-19' });
  expect((await rows())[0]).toEqual({
    tenant: tenant.alias,
    mode: 'live',
    actor_kind: 'api-key',
    request_id: requestId,
  });
  // The hour may have ended between both pieces.
  expect((await rows()).length).toBeLessThanOrEqual(2);
});
