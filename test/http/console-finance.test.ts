import { eventually } from '../support/embedded.js';
import { basic } from '../support/api-client.js';
import { runHere } from '../support/command-line.js';
import { personal } from '../support/running-service.js';

import {
  setUpConsole,
  ended,
  figures,
  get,
  keys,
  ofTenant,
  post,
  rewarded,
  running,
  tenant,
} from '../support/console-staff.js';

/** What finance does in the console. Over 5 s: replays, reconciliations and verifications run. */

setUpConsole();

describe('finance', () => {
  test('the list of recorded operations names one person in every channel', async () => {
    const { alias } = await running.service.createTenant();
    const since = new Date().toISOString();
    const operator = running.service.operator(keys.get('fay') ?? '');
    await get('fay', `/console/tenants/${alias}/live/corrections`);
    await operator.call('GET', `/ledger/${alias}/proposals`);
    await runHere(running.stores, ['ledger', 'proposals', alias, '--by', 'Fay']);
    await runHere(running.stores, ['ledger', 'proposals', alias, '--by', 'someone-else']);
    const listed = async (...options: readonly string[]): Promise<readonly object[]> => {
      const words = ['activity', 'list', alias, '--by', 'FAY', '--json', ...options];
      const { out } = await runHere(running.stores, words);
      return JSON.parse(out) as readonly object[];
    };
    const recorded = { operation: 'ledger proposals', tenant: alias, mode: 'live' };
    const newestFirst = [
      { ...recorded, actor: 'cli:Fay', channel: 'cli' },
      { ...recorded, actor: 'operator:fay', channel: 'http' },
      { ...recorded, actor: 'operator:fay', channel: 'console' },
    ];
    await eventually(async () => (await listed()).length === 3);
    expect(await listed('--since', since)).toMatchObject(newestFirst);
    expect(await listed('--limit', '1')).toMatchObject(newestFirst.slice(0, 1));
  });

  test('the statement of a page is that of the operation, and viewers see it', async () => {
    const { accountId } = await rewarded(1_500);
    const asked = new URLSearchParams({ account: accountId }).toString();
    const page = await get('fay', `${ofTenant('/statement')}?${asked}`);
    const answer = await fetch(
      `${running.service.origin}/operations/ledger/${tenant.alias}/statement?${asked}`,
      { headers: { authorization: basic(`:${keys.get('fay')}`) } },
    );
    const statement = (await answer.json()) as { digest: string; position: string };
    expect(figures(page, 'digest')).toEqual([statement.digest]);
    expect(figures(page, 'position')).toEqual([statement.position]);
    expect(figures(page, 'opening:CENTS')).toEqual(['0']);
    expect(figures(page, 'line.amount')).toEqual(['1500']);
    expect(figures(page, 'closing:CENTS')).toEqual(['1500']);
    // Formats need the read models, which the statement does not wait for.
    await eventually(async () =>
      (await get('fay', `${ofTenant('/statement')}?${asked}`)).text.includes('>$15.00</span>'),
    );
    expect(figures(await get('vic', `${ofTenant('/statement')}?${asked}`), 'digest')).toEqual([
      statement.digest,
    ]);
    const csv = await get('fay', `${ofTenant('/statement')}?${asked}&format=csv`);
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text.split('\r\n')[2]).toMatch(/,1500,1500$/);
  });

  test('without an account the statement is of the whole tenant, by days', async () => {
    const own = await running.service.createTenant();
    const accountId = personal('a');
    const person = { accountId, id: personal('u'), firstName: 'T' };
    await own.live.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
    await own.live.post('/user', person);
    const path = `/rewards/account/${accountId}/user/${person.id}`;
    for (const assignedCredit of [700, 50])
      await own.live.post(path, { type: 'CREDIT', unit: 'Cents', assignedCredit });
    await own.live.post('/credit/bulkredeem', { amount: 120, unit: 'CENTS', accountId });
    const statement = `/console/tenants/${own.alias}/live/statement`;
    await eventually(async () => {
      const page = await get('vic', statement);
      return figures(page, 'closing:Cents')[0] === '630';
    });
    const page = await get('vic', statement);
    expect(figures(page, 'opening:Cents')).toEqual(['0']);
    expect(figures(page, 'line.issued')).toEqual(['750']);
    expect(figures(page, 'line.redeemed')).toEqual(['120']);
    expect(figures(page, 'line.balance')).toEqual(['630']);
    const today = new Date().toISOString().slice(0, 10);
    const answer = await fetch(
      `${running.service.origin}/operations/ledger/${own.alias}/tenant-statement?to=${today}`,
      { headers: { authorization: basic(`:${keys.get('fay')}`) } },
    );
    const { digest } = (await answer.json()) as { digest: string };
    expect(figures(page, 'digest')).toEqual([digest]);
    const before = await get('fay', `${statement}?to=2020-01-31&unit=cents`);
    expect(before.text).toContain('Nobody had credit');
    const csv = await get('fay', `${statement}?unit=cents&format=csv`);
    expect(csv.text).toContain(`Cents,${today},750,-120,0,0,0,0,630`);
  });

  test('a run shows its figures on the page of its operation and leads there, for its operator, tenant and mode alone', async () => {
    await rewarded(100);
    const { status, location } = await post('fay', ofTenant('/replay'), {});
    expect(status).toBe(303);
    const result = location ?? '';
    const replayed = await ended('fay', result);
    expect(figures(replayed, 'progress')).toEqual(['done']);
    expect(figures(replayed, 'differences')).toEqual(['0']);
    expect(Number(figures(replayed, 'events')[0])).toBeGreaterThan(3);
    expect((await get('flo', result)).text).toContain('not known');

    const { search, searchParams } = new URL(result, 'http://localhost');
    const other = await running.service.createTenant();
    for (const elsewhere of [`${other.alias}/live`, `${tenant.alias}/test`]) {
      const shown = await get('fay', `/console/tenants/${elsewhere}/replay${search}`);
      expect([shown.status, figures(shown, 'differences')]).toEqual([403, []]);
    }
    // A run of another operation is no verification.
    const verify = await get('fay', `${ofTenant('/verify')}${search}`);
    expect(verify.status).toBe(200);
    expect(verify.text).not.toMatch(/Nobody has changed the ledger|chain is broken/);

    const path = `/console/runs/${searchParams.get('run')}`;
    expect(figures(await get('fay', path), 'progress')).toEqual(['done']);
    expect(JSON.parse((await get('fay', `${path}/progress`)).text)).toMatchObject({
      state: 'done',
      text: 'done',
      pace: '',
    });
    for (const one of [path, `${path}/progress`])
      expect((await get('flo', one)).text).toContain('There is no such run');
    expect((await get('flo', '/console/runs')).text).not.toContain(path);
  });

  test('a correction is proposed by one and appended by another, once', async () => {
    const { accountId, userId } = await rewarded(1_000);
    const fields = { account: accountId, user: userId, unit: 'CENTS', amount: '-300', reason: 'x' };
    const asked = { action: 'propose', key: personal('k'), ...fields };
    expect((await post('fay', ofTenant('/corrections'), asked)).status).toBe(303);
    // The form is sent again, as a browser does after going back.
    expect((await post('fay', ofTenant('/corrections'), asked)).status).toBe(303);
    const own = await get('fay', ofTenant('/corrections'));
    expect(own.text.split(accountId)).toHaveLength(2);
    const others = await get('flo', ofTenant('/corrections'));
    const proposal = /name="proposal" value="([^"]+)"/.exec(others.text)?.[1] ?? '';
    const approval = { action: 'approve', proposal };
    expect((await post('fay', ofTenant('/corrections'), approval)).status).toBe(403);
    const test = `/console/tenants/${tenant.alias}/test/corrections`;
    expect((await post('flo', test, approval)).status).toBe(403);
    const approved = await post('flo', ofTenant('/corrections'), approval);
    expect(approved.status).toBe(303);
    const history = await get('fay', ofTenant(`/accounts/${encodeURIComponent(accountId)}`));
    expect(history.text).toContain('as a correction approved by flo: x');
    const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
    expect(figures(statement, 'closing:CENTS')).toEqual(['700']);
  });

  test('a month is closed and opened again with a reason', async () => {
    const close = { action: 'close', period: '2024-02', comment: 'looked at' };
    const closed = await post('fay', ofTenant('/periods'), close);
    expect(closed.status).toBe(303);
    expect((await get('fay', closed.location ?? '')).text).toContain('The month is closed.');
    // An address is no proof of what was done.
    for (const done of ['closed', 'constructor']) {
      const page = await get('flo', ofTenant(`/periods?done=${done}`));
      expect([page.status, page.text.includes('The month is closed.')]).toEqual([200, false]);
    }
    expect((await post('fay', ofTenant('/periods'), close)).status).toBe(400);
    const reopen = { action: 'reopen', period: '2024-02', comment: 'too early' };
    expect((await post('fay', ofTenant('/periods'), reopen)).status).toBe(303);
    expect((await get('fay', ofTenant('/periods'))).text).not.toContain('Reopen 2024-02');
    expect((await post('fay', ofTenant('/periods'), { ...close, comment: '' })).status).toBe(400);
  });

  test('the chain verifies with the file of a digest', async () => {
    await rewarded(10);
    const made = await post('fay', ofTenant('/verify'), { action: 'digest' });
    const page = await ended('fay', made.location ?? '');
    const digest = (await get('fay', `${made.location}&format=json`)).text;
    expect(figures(page, 'digest')).toEqual([(JSON.parse(digest) as { digest: string }).digest]);
    const started = await post('fay', ofTenant('/verify'), { action: 'verify' }, { digest });
    expect(figures(await ended('fay', started.location ?? ''), 'ok')).toEqual(['true']);
    const forged = JSON.stringify({
      ...(JSON.parse(digest) as object),
      digest: '0'.repeat(64),
    });
    const failed = await post('fay', ofTenant('/verify'), { action: 'verify' }, { digest: forged });
    expect(figures(await ended('fay', failed.location ?? ''), 'ok')).toEqual(['false']);
    const other = digest.replace('"live"', '"test"');
    expect((await post('fay', ofTenant('/verify'), {}, { digest: other })).status).toBe(400);
  });
});
