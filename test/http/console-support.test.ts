import { eventually } from '../support/embedded.js';
import { basic } from '../support/api-client.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { personal, type TestTenant } from '../support/running-service.js';

import {
  setUpConsole,
  ended,
  figures,
  get,
  hiddenIn,
  ofTenant,
  type Page,
  post,
  rewarded,
  running,
  tenant,
} from '../support/console-staff.js';

/** What support does in the console. Over 5 s: read models are rebuilt and compared. */

setUpConsole();

/** The text that a page offers to be edited. */
const documentIn = ({ text }: Page): string =>
  (/<textarea[^>]*>([^<]*)</.exec(text)?.[1] ?? '')
    .replace(/&quot;/g, '"')
    .replace(/&#x27;/g, "'")
    .replace(/&#x3D;/g, '=')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

describe('support', () => {
  test('a projection is rebuilt, compared, swapped in after a typed confirmation, and rolled back', async () => {
    let compared = '';
    const act = async (action: string, confirmed = ''): Promise<Page> => {
      const fields = { action, projection: 'rewards', confirmed };
      const { status, location, text } = await post('sam', '/console/projections', fields);
      if (status !== 303) throw new Error(text);
      if (action === 'diff') compared = location ?? '';
      return ended('sam', location ?? '');
    };
    expect(figures(await act('rebuild'), 'progress')).toEqual(['done']);
    const diff = await act('diff');
    expect(figures(diff, 'differences')).toEqual(['0']);
    const [, run = ''] = /[?&]run=([0-9a-f-]+)/.exec(compared) ?? [];
    const csv = await get('sam', `/console/projections?run=${run}&format=csv`);
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text).toBe('table,kind,row,column,live,new\r\n');
    expect((await get('fay', `/console/projections?run=${run}&format=csv`)).status).toBe(403);
    await expect(act('swap', 'reward')).rejects.toThrow('type its name to confirm');
    expect(figures(await act('swap', 'rewards'), 'generation:rewards')).toEqual(['2']);
    const page = await get('sam', '/console/projections');
    const shown = { projection: 'rewards', confirmed: 'rewards', action: 'rollback' };
    const seen = { ...shown, 'seen:rewards': hiddenIn(page, 'seen:rewards') };
    expect(seen['seen:rewards']).toBe('2//1');
    const back = await Promise.all([1, 2].map(() => post('sam', '/console/projections', seen)));
    for (const { location } of back) await ended('sam', location ?? '');
    expect(figures(await get('sam', '/console/projections'), 'generation:rewards')).toEqual(['1']);
    const late = await post('sam', '/console/projections', seen);
    const told = await ended('sam', late.location ?? '');
    expect(told.text).toContain('the generations of rewards are others by now');
    expect(figures(told, 'generation:rewards')).toEqual(['1']);
  });

  test('a tenant leads to the read models with its name filled in', async () => {
    expect(await get('fay', ofTenant('/projections'))).toMatchObject({ status: 403 });
    const { status, location } = await get('sam', ofTenant('/projections'));
    expect({ status, location }).toEqual({
      status: 303,
      location: `/console/projections?tenant=${tenant.alias}&mode=live`,
    });
    expect((await get('sam', location ?? '')).text).toContain(`value="${tenant.alias}"`);
  });

  test('a program is compared with the live one, applied, and not over somebody else', async () => {
    const path = ofTenant('/program');
    const page = await get('sam', path);
    const live = documentIn(page);
    const changed = live.replace('"discountPercent": 10', '"discountPercent": 12');
    expect(changed).not.toBe(live);
    const asked = { document: changed, version: '1' };
    const compared = await post('sam', path, { ...asked, action: 'check' });
    expect(compared.text).toMatch(
      /− +&quot;discountPercent&quot;: 10[^]*\+ +&quot;discountPercent&quot;: 12/,
    );
    expect(figures(await get('sam', path), 'version')).toEqual(['1']);
    expect((await post('sam', path, { ...asked, action: 'apply' })).text).toContain(
      'Look at the changes first',
    );
    const seen = { ...asked, compared: hiddenIn(compared, 'compared'), action: 'apply' };
    expect((await post('sam', path, seen)).status).toBe(303);
    expect(figures(await get('sam', path), 'version')).toEqual(['2']);
    const late = await post('sam', path, seen);
    expect(late.status).toBe(400);
    expect(late.text).toContain('is at version 2 by now');
    const wanted = await Promise.all(
      [13, 14, 15].map(async (percent) => {
        const document = changed.replace('"discountPercent": 12', `"discountPercent": ${percent}`);
        const looked = await post('sam', path, { document, version: '2', action: 'check' });
        return { document, version: '2', compared: hiddenIn(looked, 'compared'), action: 'apply' };
      }),
    );
    const answers = await Promise.all(wanted.map((one) => post('sam', path, one)));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
    expect(figures(await get('sam', path), 'version')).toEqual(['3']);
  });

  test('the fields of a program change its JSON, unless that was changed as well', async () => {
    const path = ofTenant('/program');
    const page = await get('sam', path);
    const asked = {
      action: 'check',
      fields: hiddenIn(page, 'fields'),
      was: hiddenIn(page, 'was'),
      document: documentIn(page),
      referredReward: 'PCT_DISCOUNT',
      'referredReward.discountPercent': '15',
      'referredReward.monthsDiscountIsValid': '6',
      referrerReward: 'NONE',
    };
    const changed = await post('sam', path, asked);
    expect(JSON.parse(documentIn(changed))).toEqual({
      id: 'default',
      referredReward: { type: 'PCT_DISCOUNT', discountPercent: 15, monthsDiscountIsValid: 6 },
      referrerReward: null,
    });
    // A changed text counts; what the fields say is not dropped without a word.
    const both = await post('sam', path, { ...asked, document: '{"id":"default"}' });
    expect(both.status).toBe(400);
    expect(both.text).toContain('The fields and the JSON were changed');
    expect(JSON.parse(documentIn(both))).toEqual({ id: 'default' });
  });

  test('a theme is shown before it is published, in a frame that fetches nothing', async () => {
    const path = ofTenant('/theme');
    const values = documentIn(await get('sam', path)).replace(
      /"heading": "[^"]*"(?=[^}]*"siteUrl")/,
      '"heading": "Hello, {{friend.name}}"',
    );
    const preview = await post('sam', `${path}/preview`, { locale: '', values });
    expect(preview).toMatchObject({ status: 200 });
    expect(preview.text).toContain('Hello, Bob R');
    const policy = preview.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/frame-ancestors 'self'; sandbox$/);
    expect(preview.headers.get('x-frame-options')).toBeNull();
    const compared = await post('sam', path, { action: 'check', locale: '', values });
    expect(compared.text).toMatch(/\+ .*Hello, /);
    expect((await get('sam', path)).text).not.toContain('Hello, ');
  });

  test('names that are unknown to mails and the page are next to the field of a theme', async () => {
    const path = ofTenant('/theme');
    expect((await get('sam', path)).text).not.toContain('unknown');
    const subject = "{{stringEmptyHandler friend.name onEmpty='<b>'}} {{[<i>]}}";
    const email = { WELCOME: { configuration: { subject } } };
    const widget = { REFERRER_WIDGET: { cta: { content: { buttonText: '{{own}}' } } } };
    const values = JSON.stringify({ jsOptions: {}, widget, email });
    const { text } = await post('sam', path, { action: 'check', locale: 'fr', values });
    expect(text).toContain(
      '<span class="id">/email/WELCOME/configuration/subject</span>: stringEmptyHandler, &lt;i&gt;</li>',
    );
    expect(text).not.toContain('/cta/');
  });

  test('a theme is published, and not over somebody else', async () => {
    const path = ofTenant('/theme');
    const shown = JSON.parse(documentIn(await get('sam', path))) as { page: object };
    const heading = 'Welcome from {{friend.name}}';
    const values = JSON.stringify({ ...shown, page: { ...shown.page, heading } });
    const asked = { action: 'put', locale: '', version: '0', values };
    expect((await post('sam', path, asked)).status).toBe(303);
    expect((await get('sam', path)).text).toContain('Welcome from');
    expect((await post('sam', path, asked)).text).toContain('meanwhile');
    const headings = ['One', 'Two', 'Three'];
    const others = await Promise.all(
      headings.map((one) =>
        post('sam', path, {
          ...asked,
          version: '1',
          values: JSON.stringify({ ...shown, page: { ...shown.page, heading: one } }),
        }),
      ),
    );
    expect(others.map(({ status }) => status).sort()).toEqual([303, 400, 400]);
  });

  test('an export is asked for, appears at once, and its file is downloaded, on record', async () => {
    const { accountId } = await rewarded(70);
    const name = personal('export');
    const fields = { action: 'ask', type: 'REWARD_BALANCE', format: 'CSV', name };
    const asked = await post('sam', ofTenant('/exports'), fields);
    expect(asked).toMatchObject({ status: 303 });
    const first = await get('sam', asked.location ?? '');
    expect(first.text).toContain(`<td>${name}</td>`);
    let path = '';
    await eventually(async () => {
      const page = await get('sam', asked.location ?? '');
      const row = page.text.split('<tr>').find((text) => text.includes(name)) ?? '';
      path = /href="([^"]*\/file)" download/.exec(row)?.[1] ?? '';
      return path !== '';
    });
    const file = await get('sam', path);
    expect(file).toMatchObject({ status: 200 });
    expect(file.headers.get('content-disposition')).toContain(`filename="${name}.csv"`);
    expect(file.text).toContain(accountId);
    expect((await get('fay', path)).status).toBe(403);
    const other = await running.service.createTenant();
    const elsewhere = path.replace(tenant.alias, other.alias);
    expect((await get('sam', elsewhere)).status).toBe(403);
    const scope = { tenant: tenant.alias, mode: 'live' } as const;
    const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
    expect(records).toContain('"operation":"export run"');
    expect(records).toContain('"operation":"export download"');
  });

  test('an endpoint is added, tested, given a new secret and removed', async () => {
    const path = ofTenant('/webhooks');
    const endpoint = 'https://shop.invalid/hooks';
    const act = (action: string, more: object = {}) =>
      post('sam', path, { action, endpoint, ...more });
    const added = await act('add', { name: 'shop', types: 'coupon.created' });
    const [secret = ''] = figures(added, 'secret');
    expect(secret).toMatch(/^whsec_/);
    expect((await get('sam', path)).text).not.toContain(secret);
    expect((await get('sam', path)).text).toContain('<td>coupon.created</td>');
    const twice = await act('add');
    expect(twice).toMatchObject({ status: 400 });
    expect(twice.text).toContain('is subscribed already');
    expect((await act('test')).status).toBe(303);
    expect((await get('sam', `${path}?type=test`)).text).toContain('?delivery=');
    expect((await act('types', { types: 'user.created' })).status).toBe(303);
    expect((await get('sam', path)).text).toContain('<td>user.created</td>');
    const ticked = /name="types" value="([^"]*)" checked/g;
    expect([...(await get('sam', path)).text.matchAll(ticked)].map(([, type]) => type)).toEqual([
      'user.created',
    ]);
    expect((await tenant.live.get('/subscription')).body).toMatchObject([
      { endpointUrl: endpoint, name: 'shop', eventTypes: ['user.created'] },
    ]);
    const wrong = await act('types', { types: 'user.gone' });
    expect([wrong.status, wrong.text.includes('the types take user.created')]).toEqual([400, true]);
    expect((await act('types')).status).toBe(303);
    expect((await get('sam', path)).text).toContain('<td>all</td>');
    const seen = hiddenIn(await get('sam', path), 'seen');
    const rotated = await Promise.all([1, 2, 3].map(() => act('rotate', { grace: '1h', seen })));
    const issued = rotated.flatMap((page) => figures(page, 'secret'));
    expect(issued).toHaveLength(1);
    expect(issued[0]).toMatch(/^whsec_/);
    expect(issued[0]).not.toBe(secret);
    const refusals = rotated.filter(({ status }) => status === 400);
    expect(refusals).toHaveLength(2);
    expect(refusals[0]?.text).toContain('has rotated the secret of this endpoint meanwhile');
    const removed = await act('remove');
    expect(removed.status).toBe(303);
    expect((await get('sam', removed.location ?? '')).text).toContain('The endpoint is removed.');
    expect((await act('remove')).status).toBe(400);
    expect((await get('sam', path)).text).toContain('No endpoint is subscribed');
  });
});

describe('the settings of a tenant', () => {
  let shop: TestTenant;
  let path: string;
  const seenIn = (page: Page, action: string): string =>
    new RegExp(`name="seen" value="([^"]*)"(?:(?!</form>)[^])*value="${action}"`).exec(
      page.text,
    )?.[1] ?? '';
  const saved = async (fields: Readonly<Record<string, string>>): Promise<Page> => {
    const seen = seenIn(await get('sam', path), 'settings');
    return post('sam', path, { action: 'settings', seen, ...fields });
  };

  beforeAll(async () => {
    shop = await running.service.createTenant();
    path = `/console/tenants/${shop.alias}/live/settings`;
  });

  test('a new API key is shown once, works at once, and a form sent twice makes one', async () => {
    const seen = seenIn(await get('sam', path), 'rotate-key');
    const asked = { action: 'rotate-key', grace: '0', seen };
    const [key = ''] = figures(await post('sam', path, asked), 'secret');
    const users = async (one: string): Promise<number> => {
      const headers = { authorization: basic(`:${one}`) };
      const url = `${running.service.origin}/api/v1/${shop.alias}/users`;
      return (await fetch(url, { headers })).status;
    };
    expect(await users(key)).toBe(200);
    const again = await post('sam', path, asked);
    expect(again.status).toBe(400);
    expect(again.text).toContain('has changed the API key meanwhile');
    expect(await users(key)).toBe(200);
    expect((await get('sam', path)).text).not.toContain(key);
    const newer = { ...asked, grace: '1h', seen: seenIn(await get('sam', path), 'rotate-key') };
    const made = await Promise.all([1, 2, 3, 4].map(() => post('sam', path, newer)));
    expect(made.flatMap((page) => figures(page, 'secret'))).toHaveLength(1);
    expect(made.filter(({ status }) => status === 400)).toHaveLength(3);
    const scope = { tenant: shop.alias, mode: 'live' } as const;
    const records = JSON.stringify(await recordedOperations(running.service.service.core, scope));
    expect(records).toContain('tenant rotate-key');
    expect(records).not.toContain(key);
  });

  test('a signing secret is rotated, and the one before is listed until its grace is over', async () => {
    const seen = seenIn(await get('sam', path), 'rotate-secret');
    const rotated = await post('sam', path, { action: 'rotate-secret', grace: '7d', seen });
    expect(figures(rotated, 'secret')[0]).toMatch(/^live_secret_/);
    expect((await get('sam', path)).text).toMatch(/signing-live<\/td><td><time/);
    const grace = await post('sam', path, { action: 'rotate-key', grace: 'ever', seen });
    expect(grace.status).toBe(400);
  });

  test('switches are saved, and not over somebody else’s change', async () => {
    const before = seenIn(await get('sam', path), 'settings');
    const on = { openEndpoints: 'on', minimal: 'on', mail: 'WELCOME' };
    const lists = { addresses: 'ann@shop.example', origins: 'https://shop.example' };
    expect((await saved({ ...on, ...lists })).status).toBe(303);
    const { text } = await get('sam', path);
    for (const name of ['openEndpoints', 'minimal'])
      expect(text).toMatch(new RegExp(`name="${name}" checked`));
    expect(text).toContain('value="WELCOME" checked');
    expect(text).toContain('>ann@shop.example</textarea>');
    expect(text).toContain('>https://shop.example</textarea>');
    const late = await post('sam', path, { action: 'settings', seen: before });
    expect(late.status).toBe(400);
    expect(late.text).toContain('somebody has changed the settings meanwhile');
    expect(late.text).toContain('Open endpoints: on by now');
    expect((await get('sam', path)).text).toContain('name="openEndpoints" checked');
    const seen = seenIn(await get('sam', path), 'settings');
    const asked = { ...on, ...lists, action: 'settings', seen };
    const both = await Promise.all([
      post('sam', path, { ...asked, origins: 'https://other.example' }),
      post('sam', path, { ...asked, 'limit-code': '9' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect((await saved({ ...on, ...lists })).status).toBe(303);
  });

  test('limits of calls and the age of user tokens are saved', async () => {
    const tokensNotBefore = '2026-02-01T08:00:00Z';
    expect((await saved({ 'limit-code': '7', tokensNotBefore })).status).toBe(303);
    const { tenants } = running.service.service.core;
    expect(await tenants.read(shop.alias)).toMatchObject({
      openRules: { rateLimits: { code: 7 } },
      tokensNotBefore: Date.parse(tokensNotBefore),
    });
    const { text } = await get('sam', path);
    expect(text).toContain('name="limit-code" value="7"');
    expect(text).toContain('name="tokensNotBefore" value="2026-02-01T08:00:00.000Z"');
    // Empty fields are the defaults.
    expect((await saved({ 'limit-code': '', tokensNotBefore: '' })).status).toBe(303);
    expect(await tenants.read(shop.alias)).toMatchObject({ tokensNotBefore: null });
    expect((await get('sam', path)).text).toContain('name="limit-code" value="100"');
  });

  test('nobody is let in while the tenant is suspended', async () => {
    expect((await post('sam', path, { action: 'suspend', reason: ' ' })).status).toBe(400);
    expect((await post('sam', path, { action: 'suspend', reason: 'unpaid' })).status).toBe(303);
    expect((await get('sam', path)).text).toContain('unpaid');
    expect((await post('sam', path, { action: 'resume' })).status).toBe(303);
    expect((await get('sam', path)).text).not.toContain('unpaid');
  });
});
