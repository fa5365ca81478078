import { randomUUID } from 'node:crypto';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { eventually } from '../support/embedded.js';
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
  const [, link = ''] = /<a href="([^"]*)">Older events/.exec(text) ?? [];
  return get('fay', link.replaceAll('&amp;', '&').replaceAll('&#x3D;', '='));
}

describe('an account', () => {
  test('its page shows people, credit and history to staff, and nobody to viewers', async () => {
    const { accountId, userId, firstName } = await rewarded(900);
    const path = ofTenant(`/accounts/${accountId}`);
    const staff = await get('sam', path);
    expect(figures(staff, 'available:CENTS')).toEqual(['900']);
    expect(figures(staff, 'assigned:CENTS')).toEqual(['900']);
    expect(staff.text).toContain(`900 CENTS granted to ${firstName}, by hand`);
    expect(staff.text).toContain(`${userId}@example.com`);
    const viewer = await get('vic', path);
    expect(figures(viewer, 'available:CENTS')).toEqual(['900']);
    for (const secret of [userId, firstName]) expect(viewer.text).not.toContain(secret);
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
    expect((await get('fay', ofTenant('/accounts/nobody'))).status).toBe(404);
  });

  test('the history of a long account is read in pages, and its credit from where it was read before', async () => {
    const { accountId, userId } = await rewarded(900);
    const grant = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1 };
    for (let granted = 0; granted < 120; granted++)
      await sent(`/rewards/account/${accountId}/user/${userId}`, grant);
    const path = ofTenant(`/accounts/${accountId}`);
    const first = await get('fay', path);
    expect(figures(first, 'available:CENTS')).toEqual(['1020']);
    const count = Number(figures(first, 'events')[0]);
    await sent(`/rewards/account/${accountId}/user/${userId}`, grant);
    const { log } = running.service.service.core;
    const read = jest.spyOn(log, 'readStream');
    const again = await get('fay', path);
    const limits = read.mock.calls.map(([, options = {}]) => options);
    read.mockRestore();
    expect(figures(again, 'available:CENTS')).toEqual(['1021']);
    expect(figures(again, 'events')).toEqual([String(count + 1)]);
    for (const { limit, from = 0n, end } of limits)
      expect(limit ?? (end === undefined && from === 0n ? Infinity : 0)).toBeLessThanOrEqual(100);
    expect(shownEvents(again)).toBe(100);
    const last = await olderThan(again);
    expect(shownEvents(last)).toBe(count + 1 - 100);
    expect(last.text).not.toContain('Older events');
    const statement = await get('fay', `${ofTenant('/statement')}?account=${accountId}`);
    expect(figures(statement, 'closing:CENTS')).toEqual(['1021']);
    const [moment = ''] = figures(first, 'position');
    const earlier = await get('fay', `${path}?position=${moment}`);
    const before = await olderThan(earlier);
    expect(figures(before, 'events')).toEqual([String(count)]);
    expect(shownEvents(before)).toBe(count - 100);
    const beyond = await get('fay', `${path}?position=${moment}&before=${count + 1}`);
    expect(figures(beyond, 'position')).toEqual([moment]);
    expect(shownEvents(beyond)).toBe(100);
  });

  test('its page lists the newest 200 people, and says how many there are', async () => {
    const accountId = personal('a');
    await onTrial(accountId);
    const join = (): Promise<void> =>
      sent('/user', { id: personal('u'), accountId, firstName: 'Crowd' });
    const oldest = { id: personal('u'), accountId, firstName: 'Oldest' };
    await sent('/user', oldest);
    for (let joined = 0; joined < 200; joined += 50)
      await Promise.all(Array.from({ length: 50 }, join));
    const { text } = await get('sam', ofTenant(`/accounts/${accountId}`));
    expect(text.split('<td>Crowd</td>')).toHaveLength(201);
    expect(text).not.toContain('<td>Oldest</td>');
    expect(text).toContain('The newest of 201.');
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
    expect((await search('vic', `${userId}@exam`)).text).toContain('Try the whole id');
    const [rewardId = ''] =
      /[0-9a-f]{40,}/.exec((await get('fay', ofTenant(`/accounts/${accountId}`))).text) ?? [];
    expect(await search('fay', rewardId)).toMatchObject(account);
  });

  test('a whole user id is found first, among many that begin with it', async () => {
    const accountId = personal('a');
    await onTrial(accountId);
    const id = personal('u');
    await sent('/user', { id, accountId });
    const others = personal('a');
    await onTrial(others);
    await Promise.all(
      Array.from({ length: 25 }, (_, nth) =>
        sent('/user', { id: `${id}${nth}`, accountId: others }),
      ),
    );
    const page = await get('sam', `${ofTenant()}?search=${encodeURIComponent(id.toUpperCase())}`);
    const [, ...rows] = page.text.split('<tbody>')[1]?.split('<tr>') ?? [];
    expect(rows[0]).toContain(`>${accountId}</a></td><td>${id}</td>`);
    expect(rows[1]).toContain(`>${others}</a>`);
    expect(page.text).toContain('The text is in 26 ids');
  });

  test('each look is on record, without the name that was looked for', async () => {
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

describe('the overview', () => {
  test('counts conversions, outstanding credit, and what waits for a decision on either side', async () => {
    const shop = await running.service.createTenant({
      program: { ...DEFAULT_PROGRAM, moderation: { referred: 'APPROVED', referrer: 'PENDING' } },
    });
    const path = `/console/tenants/${shop.alias}/live`;
    const person = async (id: string, account: object): Promise<void> => {
      await shop.live.post('/accountsync', { id, subscription: { status: 'TRIAL' }, ...account });
      await shop.live.post('/user', { id, accountId: id, referralCode: id });
    };
    const [ann, bob, cid] = [personal('a'), personal('b'), personal('c')].map((id) =>
      id.replace(/[^0-9A-Za-z]/g, '').slice(-15),
    ) as [string, string, string];
    await person(ann, {});
    await person(bob, { referral: { code: ann } });
    const paid = {
      status: 'PAID',
      value: 1,
      billingIntervalType: 'MONTH',
      billingIntervalValue: 1,
    };
    await person(cid, { referral: { code: ann } });
    await shop.live.post('/accountsync', { id: cid, subscription: paid });
    const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 250 };
    await shop.live.post(`/rewards/account/${bob}/user/${bob}`, reward);
    await shop.live.get('/referrals');
    // No read of a client waits for this read model.
    await eventually(async () => figures(await get('vic', path), 'outstanding:CENTS')[0] === '250');
    await eventually(async () => figures(await get('vic', path), 'conversions')[0] === '1');
    const page = await get('vic', path);
    expect(figures(page, 'referrals')).toEqual(['2']);
    expect(figures(page, 'conversions')).toEqual(['1']);
    expect(figures(page, 'referrals.pending')).toEqual(['2']);
    expect(figures(page, 'outstanding:CENTS')).toEqual(['250']);
    expect(figures(page, 'redeemed:CENTS')).toEqual(['0']);
    expect(page.text).toContain('aria-label="Outstanding CENTS over time"');
    expect(page.text).toContain(`data-live="${path}"`);
    const waiting = `${path}/moderation?waiting=referrer`;
    expect((await get('sam', `${path}/moderation`)).text).toContain('on the other side: 2</a>');
    const queue = await get('sam', waiting);
    expect(figures(queue, 'referrals.pending')).toEqual(['2']);
    const byStart = (dir: string): Promise<Page> =>
      get('sam', `${waiting}&sort=started&dir=${dir}`);
    const startedAt = ({ text }: Page): string[] =>
      [...text.matchAll(/datetime="([^"]*)"/g)].map(([, at = '']) => at);
    const oldestFirst = startedAt(await byStart('asc'));
    expect(oldestFirst).toEqual([...oldestFirst].sort());
    expect(startedAt(await byStart('desc'))).toEqual(oldestFirst.toReversed());
    const [, referral = ''] = /name="referral" value="([^"]*)"/.exec(queue.text) ?? [];
    const decided = { referral, side: 'REFERRER', action: 'APPROVED' };
    const seen = { [`seen:${referral}`]: hiddenIn(queue, `seen:${referral}`) };
    expect(Object.values(seen)).toEqual(['APPROVED/PENDING']);
    const sent = { ...decided, ...seen, waiting: hiddenIn(queue, 'waiting') };
    expect(await post('sam', `${path}/moderation`, sent)).toMatchObject({
      status: 303,
      location: expect.stringContaining(`${waiting}&done=moderated.`) as unknown,
    });
    expect(figures(await get('sam', waiting), 'referrals.pending')).toEqual(['1']);
    // Another operator, on the page from before that decision.
    const late = await post('sam', `${path}/moderation`, { ...sent, action: 'DENIED' });
    expect(late.status).toBe(400);
    expect(late.text).toContain('somebody decided meanwhile');
    const { body } = await shop.live.get('/referrals');
    expect(JSON.stringify(body)).toContain(referral);
    expect(JSON.stringify(body)).not.toContain('DENIED');
  });
});

describe('the work behind a ledger, on its overview', () => {
  test('says since when a webhook waits, how many are dead, what is sealed, and how far read models are', async () => {
    const { pool } = running.service.service.core;
    const shop = await running.service.createTenant();
    const path = `/console/tenants/${shop.alias}/live`;
    const idle = await get('vic', path);
    expect(figures(idle, 'webhooks.oldest')).toEqual(['none']);
    expect(figures(idle, 'webhooks.dead')).toEqual(['0']);
    const insert = `insert into ledger.webhook_deliveries
      (id, tenant, mode, endpoint_id, webhook_id, type, subject, created, state, next_attempt_at, ended_at)
      values ($1, $2, $3, 'none', $1, 'test', '{}', $4, $5, '2100-01-01', null)`;
    const made = (mode: string, created: string, state: string): Promise<unknown> =>
      pool.query(insert, [randomUUID(), shop.alias, mode, created, state]);
    await made('live', '2026-03-02T00:00:00Z', 'PENDING');
    await made('live', '2026-03-01T00:00:00Z', 'PENDING');
    await made('live', '2026-02-01T00:00:00Z', 'DEAD');
    await made('live', '2026-02-01T00:00:00Z', 'DELIVERED');
    await made('test', '2026-01-01T00:00:00Z', 'PENDING');
    await made('test', '2026-01-01T00:00:00Z', 'DEAD');
    const page = await get('vic', path);
    expect(figures(page, 'webhooks.oldest')).toEqual(['2026-03-01T00:00:00.000Z']);
    expect(figures(page, 'webhooks.dead')).toEqual(['1']);
    await pool.query('delete from ledger.webhook_deliveries where tenant = $1', [shop.alias]);
    const before = Date.now();
    const sealed = async (): Promise<string> => figures(await get('vic', path), 'sealed')[0] ?? '';
    await eventually(async () => Date.parse(await sealed()) >= before);
    const caughtUp = async (): Promise<boolean> =>
      figures(await get('vic', path), 'lag.events')[0] === '0';
    await eventually(caughtUp);
    expect(figures(await get('vic', path), 'lag.seconds')).toEqual(['0']);
  });
});
