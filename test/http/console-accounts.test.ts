import { recordedOperations } from '../support/recorded-operations.js';
import { personal } from '../support/running-service.js';

import {
  setUpConsole,
  figures,
  get,
  hiddenIn,
  type Name,
  ofTenant,
  onTrial,
  type Page,
  post,
  rewarded,
  running,
  sent,
  shownEvents,
  tenant,
} from '../support/console-staff.js';

/** Accounts in the console, and the overview of a tenant. */

setUpConsole();

/** The page that a history's link to older events leads to. */
function olderThan({ text }: Page): Promise<Page> {
  const [, link = ''] = /href="([^"]*)">Older events/.exec(text) ?? [];
  return get('fay', link.replaceAll('&amp;', '&').replaceAll('&#x3D;', '='));
}

describe('an account', () => {
  test('its page shows people, credit and history to staff, and no people to viewers', async () => {
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
      unit: 'CENTS USD',
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

  test('its page shows an earlier moment', async () => {
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

  test('each search is recorded, without the searched name', async () => {
    const { accountId } = await rewarded(5);
    await get('sam', ofTenant(`/accounts/${accountId}`));
    const scope = { tenant: tenant.alias, mode: 'live' } as const;
    const records = await recordedOperations(running.service.service.core, scope);
    const looks = records
      .map((record) => JSON.stringify(record))
      .filter((record) => record.includes('console account'));
    expect(looks.length).toBeGreaterThan(0);
    expect(looks.join()).not.toContain(accountId);
  });
});
