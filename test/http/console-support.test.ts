import { randomUUID } from 'node:crypto';
import { planMail } from '../../src/mails/deliveries/mail-rows.js';
import { eventually } from '../support/embedded.js';
import { aPerson, give } from '../support/people.js';
import { basic } from '../support/api-client.js';
import { recordedOperations } from '../support/recorded-operations.js';
import { openOnce } from '../support/opened.js';
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
  type Name,
  onTrial,
  sent,
  shownEvents,
} from '../support/console-staff.js';

/** What support does in the console. Over 5 s: read models are rebuilt and compared. */

setUpConsole();

const recordsOf = (of = tenant) => recordedOperations(running.service.service.core, of.scope);

const documentIn = ({ text }: Page): string =>
  (/<textarea[^>]*>([^<]*)</.exec(text)?.[1] ?? '')
    .replace(/&quot;/g, '"')
    .replace(/&#x27;/g, "'")
    .replace(/&#x3D;/g, '=')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

test('a projection is rebuilt, compared, swapped in after a typed confirmation, and rolled back', async () => {
  let compared = '';
  const act = async (action: string, confirmed = ''): Promise<Page> => {
    const fields = { action, projection: 'rewards', confirmed };
    const { status, location, text } = await post('sam', '/console/projections', fields);
    if (status !== 303) throw new Error(text);
    if (action === 'diff') compared = location ?? '';
    return ended('sam', location ?? '');
  };
  // Other files of the worker may have rebuilt it, too.
  const generation = (page: Page) => Number(figures(page, 'generation:rewards')[0]);
  const before = generation(await get('sam', '/console/projections'));
  expect(figures(await act('rebuild'), 'progress')).toEqual(['done']);
  const diff = await act('diff');
  expect(figures(diff, 'differences')).toEqual(['0']);
  const [, run = ''] = /[?&]run=([0-9a-f-]+)/.exec(compared) ?? [];
  const csv = await get('sam', `/console/projections?run=${run}&table=diff`);
  expect(csv.headers.get('content-type')).toContain('text/csv');
  expect(csv.text).toBe('column,kind,live,new,tenant,row\n');
  expect((await get('fay', `/console/projections?run=${run}&table=diff`)).status).toBe(403);
  await expect(act('swap', 'reward')).rejects.toThrow('to confirm.');
  const swapped = generation(await act('swap', 'rewards'));
  expect(swapped).toBeGreaterThan(before);
  const page = await get('sam', '/console/projections?projection=rewards');
  const shown = { projection: 'rewards', confirmed: 'rewards', action: 'rollback' };
  const seen = { ...shown, 'seen:rewards': hiddenIn(page, 'seen:rewards') };
  expect(seen['seen:rewards']).toBe(`${swapped}//${before}`);
  const back = await Promise.all([1, 2].map(() => post('sam', '/console/projections', seen)));
  for (const { location } of back) await ended('sam', location ?? '');
  expect(generation(await get('sam', '/console/projections'))).toBe(before);
  const late = await post('sam', '/console/projections', seen);
  const refused = await ended('sam', late.location ?? '');
  expect(refused.text).toContain('the generations of rewards have changed');
  expect(generation(refused)).toBe(before);
});

test('a program is compared with the live one, forecast and published, and refused after another change', async () => {
  const path = ofTenant('/program');
  const page = await get('sam', path);
  const document = hiddenIn(page, 'document').replaceAll('&quot;', '"').replaceAll('&#x3D;', '=');
  const fields = {
    referredReward: 'PCT_DISCOUNT',
    'referredReward.discountPercent': '12',
    referrerReward: 'CREDIT',
    'referrerReward.assignedCredit': '20.00',
    'referrerReward.unit': 'CENTS',
  };
  const asked = { document, view: 'form', program: 'default', version: '1', ...fields };
  const compared = await post('sam', path, { ...asked, action: 'check' });
  expect(compared.text).toMatch(
    /− +&quot;discountPercent&quot;: 10[^]*\+ +&quot;discountPercent&quot;: 12/,
  );
  expect(compared.text).toContain('>2,000 CENTS<');
  const { location } = await post('sam', path, { ...asked, action: 'forecast' });
  const forecast = await ended('sam', location ?? '');
  expect(figures(forecast, 'forecast.candidate:referrerReward:CENTS')).toHaveLength(1);
  expect(hiddenIn(forecast, 'compared')).toBe(hiddenIn(compared, 'compared'));
  expect(figures(await get('sam', path), 'version')).toEqual(['1']);
  expect((await post('sam', path, { ...asked, action: 'publish' })).text).toContain(
    'Read the difference',
  );
  const seen = { ...asked, compared: hiddenIn(compared, 'compared'), action: 'publish' };
  expect((await post('sam', path, seen)).status).toBe(303);
  expect(figures(await get('sam', path), 'version')).toEqual(['2']);
  const late = await post('sam', path, seen);
  expect(late.status).toBe(400);
  expect(late.text).toContain('is at version 2 by now');
});

test('the form of a program has the fields of the chosen rewards alone', async () => {
  const path = ofTenant('/program');
  const document = '{"id":"default"}';
  const asked = { document, view: 'form', action: 'check', referredReward: 'CREDIT' };
  const page = await post('sam', path, { ...asked, referrerReward: 'NONE' });
  const shown = [...page.text.matchAll(/<(?:input|select) id="(refer[^"]*)"/g)].map(([, id]) => id);
  expect(shown).toEqual([
    'referredReward',
    ...['assignedCredit', 'unit', 'when', 'delayDays', 'validDays'].map(
      (name) => `referredReward.${name}`,
    ),
    'referrerReward',
  ]);
});

test('a theme is shown before it is published, in a frame that fetches nothing', async () => {
  const path = ofTenant('/theme');
  const typed = {
    view: 'form',
    was: '/page',
    values: documentIn(await post('sam', path, { action: 'json' })),
    '/page/heading': 'Hello, {{friend.name}}',
  };
  const preview = await post('sam', `${path}/preview`, typed);
  expect(preview).toMatchObject({ status: 200 });
  expect(preview.text).toContain('Hello, Bob R');
  const policy = preview.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toMatch(/frame-ancestors 'self'; sandbox$/);
  expect(preview.headers.get('x-frame-options')).toBeNull();
  const compared = await post('sam', path, { ...typed, action: 'check' });
  expect(compared.text).toMatch(/\+ .*Hello, /);
  const unknown = { ...typed, '/page/heading': '{{user.nick}}', action: 'check' };
  expect((await post('sam', path, unknown)).text).toContain('Unknown: user.nick');
  const mail = await post('sam', `${path}/preview`, { ...typed, part: '/email/WELCOME' });
  expect(mail.text).toContain('Welcome!');
  expect((await get('sam', path)).text).not.toContain('Hello, ');
});

test('a theme is published, and refused after another change', async () => {
  const path = ofTenant('/theme');
  const shown = JSON.parse(documentIn(await post('sam', path, { action: 'json' }))) as {
    page: object;
  };
  const heading = 'Welcome from {{friend.name}}';
  const values = JSON.stringify({ ...shown, page: { ...shown.page, heading } });
  const asked = { action: 'put', locale: '', version: '0', values };
  expect((await post('sam', path, asked)).status).toBe(303);
  expect((await get('sam', path)).text).toContain('Welcome from');
  expect((await post('sam', path, asked)).text).toContain('meanwhile');
});

test('an export is requested, appears immediately, and its file is downloaded, on record', async () => {
  const { accountId } = await rewarded(70);
  const name = personal('export');
  const rewards = { action: 'export', kind: 'REWARD', createdSince: '2026-10-01' };
  const ofMonth = await post('sam', ofTenant('/exports'), {
    ...rewards,
    createdBefore: '2026-10-31',
  });
  expect((await get('sam', ofMonth.location ?? '')).text).toContain(
    'from 2026-10-01 to 2026-10-31',
  );
  const fields = { action: 'export', kind: 'REWARD_BALANCE', fileFormat: 'CSV', name };
  const asked = await post('sam', ofTenant('/exports'), fields);
  expect(asked).toMatchObject({ status: 303 });
  const first = await get('sam', asked.location ?? '');
  expect(first.text).toContain(name);
  let path = '';
  await eventually(async () => {
    const page = await get('sam', asked.location ?? '');
    const row = page.text.split('<tr>').find((text) => text.includes(name)) ?? '';
    path = /href="([^"]*\/file)"/.exec(row)?.[1] ?? '';
    return path !== '';
  });
  const file = await get('sam', path);
  expect(file).toMatchObject({ status: 200 });
  expect(file.headers.get('content-disposition')).toContain(`filename="${name}.csv"`);
  expect(file.text).toContain(accountId);
  expect((await get('vic', path)).status).toBe(403);
  const other = await running.service.createTenant();
  const elsewhere = path.replace(tenant.alias, other.alias);
  expect((await get('sam', elsewhere)).status).toBe(403);
  const records = JSON.stringify(await recordsOf());
  expect(records).toContain('"operation":"export run"');
  expect(records).toContain('"operation":"export download"');
});

test('a mail is resent once, however often its form is sent', async () => {
  const { pool } = running.service.service.core;
  const id = randomUUID();
  const event = { stream: 's', revision: 0n, eventId: randomUUID() };
  const of = {
    tenant: tenant.alias,
    mode: 'live',
    account: 'a',
    person: randomUUID(),
    about: null,
  } as const;
  const mail = { ...of, id, type: 'WELCOME', event, created: Date.now() } as const;
  await planMail(pool, mail, Date.now() + 3_600_000);
  const sent = "update ledger.mail_deliveries set state = 'DELIVERED' where id = $1";
  await pool.query(sent, [id]);
  const key = hiddenIn(await get('sam', ofTenant('/mails')), 'key');
  const again = () => post('sam', ofTenant('/mails'), { action: 'resend', mail: id, key });
  const first = await again();
  await pool.query(sent, [id]);
  const second = await again();
  expect([second.status, second.location]).toEqual([303, first.location]);
  const read = 'select state from ledger.mail_deliveries where id = $1';
  expect((await pool.query(read, [id])).rows).toEqual([{ state: 'DELIVERED' }]);
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
  expect((await act('add')).status).toBe(400);
  const tested = await get('sam', (await act('test')).location ?? '');
  expect(tested.text).toMatch(/did not answer the test: <strong>[^<]+</);
  const [, delivery = ''] = /href="([^"]*\/webhooks\/[0-9a-f-]{36})"/.exec(tested.text) ?? [];
  const sentOne = await get('sam', delivery);
  expect(sentOne.text).toContain('&quot;type&quot;: &quot;test&quot;');
  expect(sentOne.text).toContain('webhook-signature');
  expect(sentOne.text).not.toContain(secret);
  const [id = ''] = delivery.split('/').slice(-1);
  const again = { delivery: id, key: `${id}-key` };
  const { location } = await act('resend', again);
  expect(figures(await get('sam', location ?? ''), 'resent')).toEqual(['1']);
  expect((await act('resend', again)).location).toBe(location);
  const other = await act('resend-since', { since: '2020-01-01', key: again.key });
  expect(other.text).toContain('the idempotency key was used for another request');
  expect((await act('resend-since', { since: '2999-01-01' })).status).toBe(400);
  expect((await act('types', { types: 'user.created' })).status).toBe(303);
  expect((await tenant.live.get('/subscription')).body).toMatchObject([
    { endpointUrl: endpoint, name: 'shop', eventTypes: ['user.created'] },
  ]);
  expect((await act('types', { types: 'user.gone' })).status).toBe(400);
  const seen = hiddenIn(await get('sam', path), 'seen');
  expect((await act('rotate', { grace: '1h', seen, confirmed: 'x' })).status).toBe(400);
  const rotated = await Promise.all(
    [1, 2, 3].map(() => act('rotate', { grace: '1h', seen, confirmed: tenant.alias })),
  );
  const issued = rotated.flatMap((page) => figures(page, 'secret'));
  expect(issued).toEqual([expect.not.stringContaining(secret)]);
  expect(rotated.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
  expect([(await act('remove')).status, (await act('remove')).status]).toEqual([303, 400]);
});

describe('the settings of a tenant', () => {
  const shop = openOnce(() => running.service.createTenant());
  let path: string;
  /** What the form of a button rests on, as the page has it. */
  const seenIn = (page: Page, button: string): string =>
    new RegExp(`name="seen" value="([^"]*)"(?:(?!</form>)[^])*value="${button}"`).exec(
      page.text,
    )?.[1] ?? '';

  beforeAll(async () => {
    path = `/console/tenants/${shop.alias}/live/settings`;
  });

  test('a new API key needs the typed alias, is shown once, and a form sent twice makes one', async () => {
    const seen = seenIn(await get('sam', path), 'key');
    const form = { action: 'rotate', what: 'key', of: 'live', grace: '0', seen };
    expect((await post('sam', path, form)).text).toContain(`to confirm.`);
    const asked = { ...form, confirmed: shop.alias };
    const [key = ''] = figures(await post('sam', path, asked), 'secret');
    const users = async (one: string): Promise<number> => {
      const headers = { authorization: basic(`:${one}`) };
      const url = `${running.service.origin}/api/v1/${shop.alias}/users`;
      return (await fetch(url, { headers })).status;
    };
    expect(await users(key)).toBe(200);
    expect((await post('sam', path, asked)).status).toBe(400);
    expect(await users(key)).toBe(200);
    expect((await get('sam', path)).text).not.toContain(key);
    const records = JSON.stringify(await recordsOf(shop));
    expect(records).toContain('tenant rotate-key');
    expect(records).not.toContain(key);
  });

  test('switches are saved, and refused after another change', async () => {
    const seen = seenIn(await get('sam', path), 'settings');
    const on = { openEndpoints: 'on', minimal: 'on', mail: 'WELCOME' };
    const lists = { addresses: 'ann@shop.example', origins: 'https://shop.example' };
    const others = { 'limit-code': '7', tokensNotBefore: '2026-02-01T08:00:00Z' };
    const asked = { ...on, ...lists, ...others, action: 'settings', seen };
    expect((await post('sam', path, asked)).status).toBe(303);
    expect(await running.service.service.core.tenants.read(shop.alias)).toMatchObject({
      openEndpoints: true,
      openRules: {
        publicUser: 'minimal',
        rateLimits: { code: 7 },
        allowedOrigins: ['https://shop.example'],
      },
      tokensNotBefore: Date.parse(others.tokensNotBefore),
    });
    expect((await get('sam', path)).text).toContain('>ann@shop.example</textarea>');
    const late = await post('sam', path, { action: 'settings', seen });
    expect(late.status).toBe(400);
    expect(late.text).toContain('Open endpoints: on by now');
    expect(late.text).toMatch(/sam changed the settings at 20/);
  });

  test('a unit gets a currency and a grant limit, which is typed as money', async () => {
    const seen = seenIn(await get('sam', path), 'units');
    const unit = { action: 'units', unit: 'CENTS', currency: 'USD', digits: '2', seen };
    expect((await post('sam', path, { ...unit, limit: '1,250.00' })).status).toBe(400);
    expect((await post('sam', path, { ...unit, limit: '12.5' })).status).toBe(303);
    expect((await running.service.service.core.tenants.read(shop.alias))?.units).toEqual({
      formats: [{ unit: 'CENTS', currency: 'USD', digits: 2 }],
      grantLimits: [{ unit: 'CENTS', amount: 1_250 }],
    });
    expect((await post('sam', path, { ...unit, limit: '' })).status).toBe(400);
  });

  test('the test clock moves forward in test mode, and ends with the data after the typed alias', async () => {
    const clock = path.replace('/live/', '/test/');
    const offset = async () =>
      (await running.service.service.core.tenants.read(shop.alias))?.testOffsetMs;
    expect((await post('sam', clock, { action: 'advance', advance: '7d' })).status).toBe(303);
    expect(await offset()).toBeGreaterThan(6 * 86_400_000);
    expect((await post('sam', clock, { action: 'reset' })).status).toBe(400);
    const reset = { action: 'reset', confirmed: shop.alias };
    expect((await post('sam', clock, reset)).status).toBe(303);
    expect(await offset()).toBeNull();
    expect((await post('sam', path, { action: 'advance', advance: '7d' })).status).toBe(400);
  });

  test('a tenant is suspended with a reason and the typed alias', async () => {
    const asked = { action: 'suspend', reason: 'unpaid' };
    expect((await post('sam', path, asked)).status).toBe(400);
    expect((await post('sam', path, { ...asked, confirmed: shop.alias })).status).toBe(303);
    expect((await get('sam', path)).text).toContain('unpaid');
    expect((await post('sam', path, { action: 'resume' })).status).toBe(303);
  });
});

setUpConsole();

/** The page that a history's link to older events leads to. */
function olderThan({ text }: Page): Promise<Page> {
  const [, link = ''] = /href="([^"]*)">Older events/.exec(text) ?? [];
  return get('fay', link.replaceAll('&amp;', '&').replaceAll('&#x3D;', '='));
}

test('the page of an account shows people, credit and history to staff, and no people to viewers', async () => {
  const { accountId, userId, firstName } = await rewarded(900);
  const path = ofTenant(`/accounts/${accountId}`);
  const staff = await get('sam', path);
  expect(figures(staff, 'available:CENTS')).toEqual(['900']);
  expect(figures(staff, 'assigned:CENTS')).toEqual(['900']);
  expect(staff.text).toMatch(new RegExp(`9.00 granted to ${firstName}`));
  expect(staff.text).toContain(`${userId}@example.com`);
  const viewer = await get('vic', path);
  expect(figures(viewer, 'available:CENTS')).toEqual(['900']);
  for (const secret of [userId, firstName]) expect(viewer.text).not.toContain(secret);
});

test('support grants, edits and cancels once per form, each with its reason or version', async () => {
  const { accountId, userId } = await rewarded(900);
  const path = ofTenant(`/accounts/${accountId}`);
  const grant = {
    action: 'grant',
    user: userId,
    type: 'CREDIT',
    unit: 'CENTS',
    key: accountId,
  };
  const refused = await post('sam', path, { ...grant, amount: '1,250.00', reason: 'sorry' });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain('1250.00 or 1.25');
  const day = { expires: '2099-12-31' };
  const entries = { ...grant, ...day, amount: '12,50', reason: 'sorry for the wait' };
  const preview = await post('sam', path, entries);
  expect(preview.text).toContain('$12.50 &#x3D; 1,250 CENTS');
  expect(preview.text).toMatch(/id="expires"[^>]*data-day="end" data-moment="2099-12-31T23:59/);
  expect(figures(await get('sam', path), 'available:CENTS')).toEqual(['900']);
  const shown = hiddenIn(preview, 'shown').replaceAll('&quot;', '"');
  const typed = { ...entries, shown };
  for (let sent = 0; sent < 2; sent++)
    expect(await post('sam', path, typed)).toMatchObject({ status: 303 });
  const granted = await get('sam', path);
  expect(figures(granted, 'available:CENTS')).toEqual(['2150']);
  expect(granted.text).toContain('sorry for the wait');
  expect(await post('fay', path, typed)).toMatchObject({ status: 403 });
  const form = await get('sam', `${path}?action=edit&user=${userId}`);
  const edit = { action: 'edit', user: userId, firstName: 'Nora', lastName: 'Neu', locale: '' };
  const fields = {
    ...edit,
    email: '',
    countryCode: '',
    segments: 'vip',
    customFields: 'tier=gold',
  };
  const version = hiddenIn(form, 'version');
  expect(await post('sam', path, { ...fields, version })).toMatchObject({ status: 303 });
  const late = await post('sam', path, { ...fields, firstName: 'Nina', version });
  expect(late.status).toBe(400);
  expect(late.text).toContain('sam');
  expect((await get('sam', path)).text).toContain('Nora Neu');
});

test('support grants credit of a unit with a space, shown in the currency of the credit', async () => {
  const { accountId, userId } = await rewarded(900);
  const inEuros = { unit: 'CENTS', assignedCredit: 100, currency: 'EUR' };
  for (const value of [{ unit: 'Gold' }, { unit: 'Gold stars' }, inEuros])
    await sent(`/rewards/account/${accountId}/user/${userId}`, {
      type: 'CREDIT',
      assignedCredit: 1,
      ...value,
    });
  const path = ofTenant(`/accounts/${accountId}`);
  const grant = { action: 'grant', user: userId, type: 'CREDIT', key: accountId, reason: 'sorry' };
  const cents = await post('sam', path, { ...grant, unit: 'CENTS', amount: '12.50' });
  expect(cents.text).toContain('€12.50 &#x3D; 1,250 CENTS');
  expect(cents.text).toContain('EUR (CENTS)');
  const stars = { ...grant, unit: 'Gold stars', amount: '5' };
  const preview = await post('sam', path, stars);
  expect(preview.text).toContain('<strong>5 Gold stars</strong>');
  const shown = hiddenIn(preview, 'shown').replaceAll('&quot;', '"');
  expect(await post('sam', path, { ...stars, shown })).toMatchObject({ status: 303 });
  const granted = await get('sam', path);
  expect(figures(granted, 'available:Gold stars')).toEqual(['6']);
  expect(figures(granted, 'available:Gold')).toEqual(['1']);
  expect(granted.text).toContain('€10.00');
  expect(granted.text).not.toContain('$10.00');
});

test('the page of an account shows the operator and the reason of a block', async () => {
  const { accountId, userId } = await rewarded(5);
  const path = ofTenant(`/accounts/${accountId}`);
  const reason = 'Three accounts with one card';
  await post('sam', path, { action: 'block', user: userId, reason, key: accountId });
  const { text } = await get('fay', path);
  expect(text).toMatch(/was blocked by sam on <time[^>]*>[^<]*<\/time>: Three accounts/);
  expect(text).toContain(`was blocked. Reason: ${reason}</b>`);
  const viewed = (await get('vic', path)).text;
  expect(viewed).toContain('was blocked by sam on');
  expect(viewed).not.toContain(reason);
});

test('a grant is confirmed again when its amount has become another one', async () => {
  const { alias, live } = await running.service.createTenant();
  const { accountId, id: user, at } = await aPerson(live);
  await give(live, { at }, { assignedCredit: 1 });
  const path = `/console/tenants/${alias}/live/accounts/${accountId}`;
  const grant = { action: 'grant', user, type: 'CREDIT', unit: 'CENTS', amount: '12.50' };
  const fields = { ...grant, reason: 'sorry', key: accountId };
  const confirmed = async (page: Page) => {
    const shown = hiddenIn(page, 'shown').replaceAll('&quot;', '"');
    return post('sam', path, { ...fields, shown });
  };
  const preview = await post('sam', path, fields);
  expect(preview.text).toContain('$12.50 &#x3D; 1,250 CENTS');
  const formats = [{ unit: 'CENTS', currency: 'KWD', digits: 3 }];
  await running.service.change(alias, { type: 'ChangeUnitSettings', formats });
  const again = await confirmed(preview);
  expect(again.text).toContain('&#x3D; 12,500 CENTS');
  expect(figures(again, 'available:CENTS')).toEqual(['1']);
  expect(await confirmed(again)).toMatchObject({ status: 303 });
  expect(figures(await get('sam', path), 'available:CENTS')).toEqual(['12501']);
});

test('the page of an account shows an earlier moment', async () => {
  const { accountId, userId } = await rewarded(900);
  const path = ofTenant(`/accounts/${accountId}`);
  const [position = ''] = figures(await get('fay', path), 'position');
  const more = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 50 };
  await sent(`/rewards/account/${accountId}/user/${userId}`, more);
  expect(figures(await get('fay', path), 'available:CENTS')).toEqual(['950']);
  const earlier = await get('fay', `${path}?position=${position}`);
  expect(figures(earlier, 'available:CENTS')).toEqual(['900']);
  expect((await get('fay', ofTenant('/accounts/missing'))).status).toBe(404);
});

test('the history of a long account is read in pages, and its credit up to its newest event', async () => {
  const { accountId, userId } = await rewarded(900);
  const grant = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1 };
  const events = Array.from({ length: 60 }, () => ({ key: 'visit' }));
  for (let batch = 0; batch < 2; batch++)
    await sent(`/open/account/${accountId}/user/${userId}/events`, { accountId, userId, events });
  const path = ofTenant(`/accounts/${accountId}`);
  const first = await get('fay', path);
  expect(figures(first, 'available:CENTS')).toEqual(['900']);
  const count = Number(figures(first, 'events')[0]);
  await sent(`/rewards/account/${accountId}/user/${userId}`, grant);
  const again = await get('fay', path);
  expect(figures(again, 'available:CENTS')).toEqual(['901']);
  expect(figures(again, 'events')).toEqual([String(count + 1)]);
  expect(shownEvents(again)).toBe(100);
  const last = await olderThan(again);
  expect(shownEvents(last)).toBe(count + 1 - 100);
  expect(last.text).not.toContain('Older events');
  const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
  expect(figures(statement, 'closing:CENTS')).toEqual(['901']);
  const [moment = ''] = figures(first, 'position');
  const earlier = await get('fay', `${path}?position=${moment}`);
  const before = await olderThan(earlier);
  expect(figures(before, 'events')).toEqual([String(count)]);
  expect(shownEvents(before)).toBe(count - 100);
  const beyond = await get('fay', `${path}?position=${moment}&before=${count + 1}`);
  expect(figures(beyond, 'position')).toEqual([moment]);
  expect(shownEvents(beyond)).toBe(100);
});

test('values of people are text', async () => {
  const accountId = personal('a');
  const [id, firstName] = [personal('u'), '<script>alert(1)</script>{{7*7}}'];
  await onTrial(accountId);
  await sent('/user', { id, accountId, firstName });
  const { text } = await get('fay', ofTenant(`/accounts/${accountId}`));
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}');
  expect(text).not.toContain('<script>alert');
});

test.each(['users', 'accounts', 'rewards', 'balances'])(
  'a list of %s says that its text filter finds nothing',
  async (list) => {
    const { status, text } = await get('sam', ofTenant(`/${list}?text=nothing-has-this-name`));
    expect([status, text.includes('Nothing matches these filters.')]).toEqual([200, true]);
  },
);

test('a search leads to the only account that it finds', async () => {
  const { accountId, userId } = await rewarded(5);
  const search = (who: Name, text: string) =>
    get(who, `${ofTenant()}?${new URLSearchParams({ search: text }).toString()}`);
  const account = { status: 303, location: ofTenant(`/accounts/${accountId}`) };
  expect(await search('vic', accountId)).toMatchObject(account);
  expect(await search('sam', `${userId}@exam`)).toMatchObject(account);
  expect((await search('vic', `${userId}@exam`)).text).toContain('has the id');
  const [rewardId = ''] =
    /[0-9a-f]{40,}/.exec((await get('fay', ofTenant(`/accounts/${accountId}`))).text) ?? [];
  expect(await search('fay', rewardId)).toMatchObject(account);
});

test('a search in all tenants is recorded where it finds people', async () => {
  const { accountId, userId } = await rewarded(5);
  const other = await running.service.createTenant();
  const text = `${userId}@exam`;
  await eventually(async () => {
    const search = new URLSearchParams({ search: text }).toString();
    const { location } = await get('sam', `/console?${search}`);
    return location === ofTenant(`/accounts/${accountId}`);
  });
  const { core } = running.service.service;
  const digest = core.names.digest('console-search', text);
  const searchesIn = async (of: TestTenant) =>
    (await recordsOf(of)).filter(
      (one) => one.type === 'OperationRecorded' && one.parameters['text'] === digest,
    );
  expect(await searchesIn(tenant)).toMatchObject([{ operation: 'console search' }]);
  expect(await searchesIn(other)).toEqual([]);
});

test('the page of referrals to decide on is recorded', async () => {
  const own = await running.service.createTenant();
  await get('sam', `/console/tenants/${own.alias}/live/moderation`);
  expect(await recordsOf(own)).toMatchObject([
    { operation: 'console moderation', by: { value: 'sam' } },
  ]);
});

test('each search is recorded, without the searched name', async () => {
  const { accountId } = await rewarded(5);
  await get('sam', ofTenant(`/accounts/${accountId}`));
  const looks = (await recordsOf())
    .map((record) => JSON.stringify(record))
    .filter((record) => record.includes('console account'));
  expect(looks.length).toBeGreaterThan(0);
  expect(looks.join()).not.toContain(accountId);
});
