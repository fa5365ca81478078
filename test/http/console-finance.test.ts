import { eventually } from '../support/embedded.js';
import { runHere } from '../support/command-line.js';
import { aPerson, give } from '../support/people.js';
import { personal } from '../support/running-service.js';
import {
  setUpConsole,
  ended,
  figures,
  get,
  hiddenIn,
  keys,
  ofTenant,
  onTrial,
  post,
  rewarded,
  running,
  tenant,
} from '../support/console-staff.js';

/** What finance does in the console. Over 5 s: replays, reconciliations and verifications run. */

setUpConsole();

const asFay = (route: string) =>
  running.service.operator(keys.get('fay') ?? '').call('GET', `/ledger/${route}`);

test('the list of recorded operations names one person in every channel', async () => {
  const { alias } = await running.service.createTenant();
  const since = new Date().toISOString();
  await get('fay', `/console/tenants/${alias}/live/corrections`);
  await asFay(`${alias}/proposals`);
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
  const activity = await get('fay', `/console/activity?within=${alias}/live`);
  expect(activity.text).toContain(`href="/console/tenants/${alias}/live/balances"`);
  expect(await listed('--since', since)).toMatchObject(newestFirst);
  expect(await listed('--limit', '1')).toMatchObject(newestFirst.slice(0, 1));
});

test('the statement of a page is that of the operation, and viewers see it', async () => {
  const { accountId } = await rewarded(1_500);
  const asked = new URLSearchParams({ account: accountId }).toString();
  const page = await get('fay', `${ofTenant('/statement')}?${asked}`);
  const { digest, position } = (await asFay(`${tenant.alias}/statement?${asked}`)).body;
  expect(figures(page, 'digest')).toEqual([digest]);
  expect(figures(page, 'position')).toEqual([position]);
  expect(figures(page, 'opening:CENTS')).toEqual(['0']);
  expect(figures(page, 'line.amount')).toEqual(['1500']);
  expect(figures(page, 'closing:CENTS')).toEqual(['1500']);
  // Formats need the read models, which the statement does not wait for.
  await eventually(async () =>
    (await get('fay', `${ofTenant('/statement')}?${asked}`)).text.includes('>$15.00</span>'),
  );
  expect(figures(await get('vic', `${ofTenant('/statement')}?${asked}`), 'digest')).toEqual([
    digest,
  ]);
  const csv = await get('fay', `${ofTenant('/statement')}?${asked}&format=csv`);
  expect(csv.headers.get('content-type')).toContain('text/csv');
  expect(csv.text.split('\r\n')[2]).toMatch(/,1500,1500$/);
});

test('a viewer sees a shortened account id with an address on its statement', async () => {
  const accountId = `${personal('ann')}@example.com`;
  const text = { html: accountId, address: encodeURIComponent(accountId) };
  await onTrial(accountId);
  const path = ofTenant('/statement');
  const finance = await get('fay', `${path}?account=${text.address}`);
  expect(finance.text).toContain(text.html);
  const [digest] = figures(finance, 'digest');
  const viewer = await get('vic', `${path}?account=${text.address}`);
  expect(viewer.text).not.toContain(text.html);
  expect(viewer.text).toContain(`${accountId.slice(0, 2)}…`);
  expect(figures(viewer, 'digest')).toEqual([digest]);
  const again = await get('vic', `${path}?account=&of=${hiddenIn(viewer, 'of')}`);
  expect(figures(again, 'digest')).toEqual([digest]);
  const csv = await get('vic', `${path}?account=${text.address}&format=csv`);
  expect(csv.headers.get('content-disposition')).not.toContain(accountId.split('@')[0]);
});

test('without an account the statement is of the whole tenant, by days', async () => {
  const own = await running.service.createTenant();
  const { accountId, at } = await aPerson(own.live);
  for (const assignedCredit of [700, 50])
    await give(own.live, { at }, { unit: 'Cents', assignedCredit });
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
  const { body } = await asFay(`${own.alias}/tenant-statement?to=${today}`);
  expect(figures(page, 'digest')).toEqual([body['digest']]);
  const before = await get('fay', `${statement}?to=2020-01-31&unit=cents`);
  expect(before.text).toContain('There is no credit in this unit');
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
  expect((await get('flo', result)).text).toContain('no longer kept');

  const { search, searchParams } = new URL(result, 'http://localhost');
  const other = await running.service.createTenant();
  for (const elsewhere of [`${other.alias}/live`, `${tenant.alias}/test`]) {
    const shown = await get('fay', `/console/tenants/${elsewhere}/replay${search}`);
    expect([shown.status, figures(shown, 'differences')]).toEqual([403, []]);
  }
  // A run of another operation is no verification.
  const verify = await get('fay', `${ofTenant('/verify')}${search}`);
  expect(verify.status).toBe(200);
  expect(verify.text).not.toMatch(/sealed without a gap|chain is broken/);

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

const proposed = async (fields: Record<string, string>) => {
  const asked = { action: 'propose', key: personal('k'), ...fields };
  const shown = await post('fay', ofTenant('/corrections'), asked);
  const hidden = (name: string): string => hiddenIn(shown, name).replaceAll('&quot;', '"');
  const confirmed = { ...asked, shown: hidden('shown'), balance: hidden('balance') };
  return { shown, confirmed };
};

test('a correction is previewed, proposed by one and booked by another, once', async () => {
  const { accountId, userId } = await rewarded(1_000);
  const fields = { account: accountId, user: userId, unit: 'CENTS', amount: '-3', reason: 'x' };
  const { shown, confirmed } = await proposed(fields);
  expect(shown.text).toMatch(/Balance \$10\.00 → \$7\.00/);
  expect((await post('fay', ofTenant('/corrections'), confirmed)).status).toBe(303);
  // The form is sent again, as a browser does after going back.
  expect((await post('fay', ofTenant('/corrections'), confirmed)).status).toBe(303);
  const own = await get('fay', ofTenant('/corrections'));
  expect(own.text.split(`/accounts/${accountId}"`)).toHaveLength(2);
  const others = await get('flo', ofTenant('/corrections'));
  const proposal = /name="proposal" value="([^"]+)"/.exec(others.text)?.[1] ?? '';
  const approval = { action: 'approve', proposal };
  expect((await post('fay', ofTenant('/corrections'), approval)).status).toBe(403);
  const test = `/console/tenants/${tenant.alias}/test/corrections`;
  expect((await post('flo', test, approval)).status).toBe(403);
  const stale = await post('flo', ofTenant('/corrections'), { ...approval, balance: '999' });
  expect([stale.status, stale.text.includes('changed this balance')]).toEqual([400, true]);
  expect((await post('flo', ofTenant('/corrections'), approval)).status).toBe(303);
  const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
  expect(figures(statement, 'closing:CENTS')).toEqual(['700']);
  expect(statement.text).toContain('x; proposed by fay, approved by flo');
});

test('a refused correction keeps its entries, and is sent again with another key', async () => {
  const { accountId, userId } = await rewarded(1_000);
  const fields = { account: accountId, user: userId, amount: '5', reason: 'late' };
  const wrongs: readonly (readonly [object, string])[] = [
    [{ unit: 'CENTZ' }, 'Choose a unit'],
    [{ unit: 'CENTS', amount: '1,250.00' }, 'Type one of them'],
    [{ unit: 'CENTS', amount: '-12.50' }, '$12.50 is more than the available $10.00.'],
  ];
  for (const [wrong, why] of wrongs) {
    const refused = await post('fay', ofTenant('/corrections'), {
      action: 'propose',
      key: 'used',
      ...fields,
      ...wrong,
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(why);
    expect(refused.text).toContain('value="late"');
    expect(refused.text).toContain('aria-invalid="true"');
    expect(refused.text).not.toContain('name="key" value="used"');
  }
  const { confirmed } = await proposed({ ...fields, unit: 'CENTS' });
  expect((await post('fay', ofTenant('/corrections'), confirmed)).status).toBe(303);
});

test('a correction is rejected with a reason by another, or withdrawn by its proposer', async () => {
  const ends = [
    ['flo', { action: 'reject', reason: 'booked twice' }, 'Rejected'],
    ['fay', { action: 'withdraw' }, 'Withdrawn'],
  ] as const;
  for (const [who, decision, state] of ends) {
    const { accountId, userId } = await rewarded(100);
    const fields = { account: accountId, user: userId, unit: 'CENTS', amount: '1', reason: 'r' };
    await post('fay', ofTenant('/corrections'), (await proposed(fields)).confirmed);
    const page = await get(who, ofTenant('/corrections'));
    const [, rest = ''] = page.text.split(`/accounts/${accountId}"`);
    const proposal = /name="proposal" value="([^"]+)"/.exec(rest)?.[1] ?? '';
    expect((await post('sam', ofTenant('/corrections'), { ...decision, proposal })).status).toBe(
      403,
    );
    const ended = await post(who, ofTenant('/corrections'), { ...decision, proposal });
    expect(ended.status).toBe(303);
    const after = await get('flo', ofTenant('/corrections'));
    expect(after.text.split(`/accounts/${accountId}"`)[1]).toContain(state);
  }
  expect((await get('flo', ofTenant('/corrections'))).text).toContain('booked twice');
});

test('a month is closed and opened again with a reason', async () => {
  const close = { action: 'close', period: '2024-02', comment: 'looked at', confirm: '2024-02' };
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
  const opened = (await get('fay', ofTenant('/periods?month=2024-02'))).text;
  expect(opened).not.toContain('Reopen 2024-02');
  expect(opened).toContain('too early');
  expect((await post('fay', ofTenant('/periods'), { ...close, confirm: '' })).status).toBe(400);
  expect((await post('fay', ofTenant('/periods'), { ...close, comment: '' })).status).toBe(400);
});

test('the chain verifies with the file of a digest', async () => {
  await rewarded(10);
  const made = await get('fay', ofTenant('/verify?format=digest'));
  const digest = made.text;
  const today = new Date().toISOString().slice(0, 10);
  expect(made.headers.get('content-disposition')).toContain(
    `digest-${tenant.alias}-live-${today}.json`,
  );
  const started = await post('fay', ofTenant('/verify'), { action: 'verify' }, { digest });
  expect(figures(await ended('fay', started.location ?? ''), 'ok')).toEqual(['true']);
  const forged = JSON.stringify({
    ...(JSON.parse(digest) as object),
    digest: '0'.repeat(64),
  });
  const failed = await post('fay', ofTenant('/verify'), { action: 'verify' }, { digest: forged });
  const forgery = await ended('fay', failed.location ?? '');
  expect(figures(forgery, 'ok')).toEqual(['false']);
  expect(forgery.text).toContain('The file is not as this installation signed it.');
  expect(forgery.text).not.toContain('Intact');
  const others = { mode: 'test', tenant: 'other', log: 'elsewhere' };
  for (const [member, value] of Object.entries(others)) {
    const other = JSON.stringify({ ...(JSON.parse(digest) as object), [member]: value });
    const refused = await post('fay', ofTenant('/verify'), {}, { digest: other });
    expect([refused.status, refused.text.includes(value)]).toEqual([400, true]);
  }
});

test('sums of several currencies have a line of money for each', async () => {
  const own = await running.service.createTenant();
  for (const [currency, assignedCredit] of [
    ['USD', 700],
    ['EUR', 500],
  ]) {
    const person = await aPerson(own.live, {}, { currency });
    await give(own.live, person, { assignedCredit });
  }
  const rewards = `/console/tenants/${own.alias}/live/rewards`;
  await eventually(async () => figures(await get('fay', rewards), 'total')[0] === '2');
  for (const page of ['/balances', ''])
    await eventually(async () => {
      const shown = await get('fay', `/console/tenants/${own.alias}/live${page}`);
      const lines = [...shown.text.matchAll(/class="second">([^<]*)</g)].map(([, line]) => line);
      const [sum] = figures(shown, 'outstanding:CENTS');
      return sum === '1200' && lines.includes('$7.00') && lines.includes('€5.00');
    });
});

test('balances are those of the operation, and their file reconciles', async () => {
  const own = await running.service.createTenant();
  const { accountId, at } = await aPerson(own.live);
  await give(own.live, { at }, { unit: 'POINTS', assignedCredit: 700 });
  const pages = `/console/tenants/${own.alias}/live`;
  await eventually(async () => (await get('sam', `${pages}/balances`)).text.includes(accountId));
  const page = await get('fay', `${pages}/balances`);
  expect(figures(page, 'balance:POINTS')).toEqual(['700']);
  expect(figures(page, 'outstanding:POINTS')).toEqual(['700']);
  const earlier = await get('fay', `${pages}/balances?asOf=2020-01-31T12:00`);
  expect(figures(earlier, 'balance:POINTS')).toEqual([]);
  const balances = (await get('fay', `${pages}/balances?format=csv`)).text;
  expect(balances).toBe(`account,unit,balance\n${accountId},POINTS,700\n`);
  const books = balances.replace('700', '650');
  for (const [file, differing] of [
    [balances, 'All 1 balances agree'],
    [books, '1 of 1 balances differ'],
  ] as const) {
    const started = await post('fay', `${pages}/reconcile`, {}, { balances: file });
    const result = await ended('fay', started.location ?? '');
    expect(figures(result, 'compared')).toEqual(['1']);
    expect(result.text.replace(/\s+/g, ' ')).toContain(differing);
  }
  expect((await get('fay', '/console/runs')).text).toContain('Differences found');
});
