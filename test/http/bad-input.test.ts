import { writeFile } from 'node:fs/promises';
import { fuzz } from '../../bench/fuzz/fuzz-run.js';
import { createLedgers } from '../../bench/fuzz/small-world.js';
import { newOperatorKey } from '../../src/config/operators.js';
import { basic, path, query, type Json } from '../support/api-client.js';
import { sendRaw } from '../support/raw-http.js';
import { newSeed } from '../support/new-seed.js';
import { personal, useSharedService, useTenant } from '../support/running-service.js';
import { openOnce } from '../support/opened.js';

/**
 * Whatever comes: a JSON answer with every member of an error, never a 500, and nothing changed.
 * Over 5 s: a drawn request of every operation.
 */

const operators = (['fay', 'sam'] as const).map((name) => ({
  name,
  ...newOperatorKey(name, ['finance', 'support']),
}));
const running = useSharedService();
const tenant = useTenant(running);
const api = openOnce(() => tenant.live);
let world: { readonly accountId: string; readonly at: string };
beforeAll(async () => {
  const entries = operators.map(({ entry }) => entry);
  await writeFile(running.stores.operatorsFile, JSON.stringify(entries));
  const [accountId, userId] = [personal('acc'), personal('user')];
  await api.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
  await api.post('/user', { id: userId, accountId });
  world = { accountId, at: `/account/${accountId}/user/${userId}` };
});

test('an integer that would be rounded is refused by its name, unless no shape reads it', async () => {
  const big = '12345678901234567';
  const sent = async (to: string, raw: string) => {
    const { status, body } = await api.post(to, undefined, { raw });
    return [status, body['validationErrors']];
  };
  const reason = 'is an integer beyond 2^53-1 and would be rounded: send it as a string';
  const { accountId, at } = world;
  const userId = decodeURIComponent(at.split('/').at(-1) ?? '');
  const ids = `"userId":"${userId}","accountId":"${accountId}"`;
  expect(
    await sent(
      `/open${at}/events`,
      `{${ids},"events":[{"key":"a"},{"key":"b","fields":{"order":[{"id":${big}}]}}]}`,
    ),
  ).toEqual([400, [`events[1].fields.order[0].id ${reason}`]]);
  const operated = await fetch(
    `${running.service.origin}/operations/themes/${tenant.alias}/rollback`,
    {
      method: 'POST',
      headers: {
        authorization: basic(`:${operators[1]?.key}`),
        'content-type': 'application/json',
      },
      body: `{"version":${big}}`,
    },
  );
  expect(await operated.json()).toMatchObject({ validationErrors: [`version ${reason}`] });
  for (const value of ['9007199254740991.5', '1e300'])
    expect(
      await sent(
        '/accountsync',
        `{"id":"${accountId}","subscription":{"status":"TRIAL","value":${value}}}`,
      ),
    ).toEqual([400, ['subscription.value must be a number from 0 to 2^53-1']]);
  const endless = await sent(
    `/open${at}/events`,
    `{${ids},"events":[{"key":"a","fields":{"a":1e400}}]}`,
  );
  expect(endless).toEqual([400, [expect.stringMatching(/^events\[0\]\.fields must be /)]]);
  const approximate = `{"customFields":{"order":1.2345678901234567e16,"text":"${big}"},"order":${big}}`;
  const { body } = await api.put(`/open${at}`, undefined, { raw: approximate });
  expect(body['customFields']).toEqual({ order: 1.2345678901234568e16, text: big });
});

const GOOD_IDS = [
  'a%2Fb',
  ' a ',
  '?#&=;,\'"`\\',
  '..',
  '<b>{{x}}',
  'e\u0301',
  '😀'.repeat(255),
  '-1',
  'null',
  '__proto__',
  '\u202eabc\u00a0',
  '%00',
];
const port = () => Number(new URL(running.service.origin).port);
async function getAsIs(to: string) {
  const [answer] = await sendRaw(
    port(),
    `GET /api/v1/${tenant.alias}${to} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic(`:${tenant.liveKey}`)}\r\n\r\n`,
  );
  return { status: answer!.status, body: answer!.json };
}

test('ids of all kinds are returned as sent, and stay distinct', async () => {
  const mark = personal();
  const codes = new Map<string, string>();
  for (const id of GOOD_IDS) {
    const own = id === '..' || id === '.' || [...id].length === 255 ? id : `${id}${mark}`;
    const synced = await api.post('/accountsync', { id: own, subscription: { status: 'TRIAL' } });
    expect([own, synced.status, synced.body['id']]).toStrictEqual([own, 200, own]);
    const made = await api.post('/user', { id: own, accountId: own });
    expect([own, made.status, made.body['id'], made.body['accountId']]).toStrictEqual([
      own,
      200,
      own,
      own,
    ]);
    codes.set(own, String(made.body['referralCode']));
  }
  for (const [id, code] of codes) {
    expect([id, await getAsIs(`/account${path(id)}`)]).toMatchObject([
      id,
      { status: 200, body: { id } },
    ]);
    expect(await getAsIs(`/account${path(id)}/user${path(id)}`)).toMatchObject({
      status: 200,
      body: { id, accountId: id, referralCode: code },
    });
    expect((await api.get(`/user${query({ referralCode: code })}`)).body['id']).toBe(id);
    expect(
      (await api.get<Json[]>(`/reward${query({ accountId: id, userId: id })}`)).body,
    ).toStrictEqual([]);
    expect(
      (await api.get(`/users${query({ query: id })}`)).body['totalCount'],
    ).toBeGreaterThanOrEqual(id.trim() === '' ? 0 : 1);
  }
});

// 5 000 of each operation: `npm run soak:fuzz`.
test.each([newSeed('requests from the description')])(
  'requests made from the description by seed %i are answered as described, and to their tenant alone',
  async (seed) => {
    const { service } = running.service;
    const tenants = service.core.tenantCommands;
    const world = {
      origin: running.service.origin,
      ledgers: await createLedgers(tenants, {
        aliases: [`fuzz-${seed}-one`, `fuzz-${seed}-two`],
      }),
      operators,
    };
    const { validator } = running.service;
    const report = await fuzz({ world, validator, seed, requests: 1 });
    expect(report.violations).toEqual([]);
    const sent = Object.entries(validator.document.paths).flatMap(([template, methods]) =>
      Object.keys(methods).map((method) =>
        report.operations.get(`${method.toUpperCase()} ${template}`),
      ),
    );
    expect(sent.filter((tally) => (tally?.requests ?? 0) < 1)).toEqual([]);
    // All requests would otherwise end at the door; many are refused by what the ledger holds.
    const accepted = sent.flatMap((tally) =>
      [...(tally?.statuses ?? [])].map(([status, count]) => (status < 300 ? count : 0)),
    );
    expect(accepted.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(sent.length / 20);
  },
);

test('none of these requests was a failure of the service', () => {
  expect(running.service.logText).not.toContain('request failed');
  expect(running.service.logText).not.toMatch(/"status":5\d\d/);
  expect(running.service.logText).toContain('"status":400');
});
