import { randomUUID } from 'node:crypto';
import {
  everyLedger,
  searchCustomers,
  type CustomerSearch,
} from '../../src/operations/customers/search/search-customers.js';
import { referralsMade } from '../../src/operations/accounts/account-referrals.js';
import type { ShownPerson } from '../../src/operations/accounts/account-history.js';
import type { Scope } from '../../src/domain/scope.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import { accountOpened, anAccount, userIdentified } from '../support/account-events.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { accountOf, givenTenant, NOW, SCOPE } from './support/listed-tenant.js';
import { openOnce } from '../support/opened.js';

const projected = openOnce(() => ProjectedLedger.open(), 'close');
const OTHER = { tenant: 'other', mode: 'live' } as const;

beforeAll(async () => {
  projected.startRunner();
  await givenTenant(projected);
  const twin = anAccount('twin', OTHER);
  const jana = { firstName: 'Jana', lastName: 'Frank' };
  await projected.given(twin, accountOpened(twin), userIdentified(twin, 'jana@twin', jana));
});

function search(text: string, over: Partial<CustomerSearch> = {}, ...scopes: readonly Scope[]) {
  const names = {
    accountRef: ({ tenant, mode }: Scope, id: string) =>
      anAccount(id, { tenant, mode: mode === 'live' ? 'live' : 'test' }).accountRef,
  };
  const core = { names, pool: projected.pool } as unknown as Parameters<typeof searchCustomers>[0];
  return searchCustomers(core, projected.search(), scopes.length > 0 ? scopes : [SCOPE], {
    text,
    showsPersonal: true,
    limit: 50,
    offset: 0,
    ...over,
  });
}
const titles = async (...asked: Parameters<typeof search>) =>
  (await search(...asked)).hits.map(({ kind, title }) => `${kind} ${title}`);

test.each([
  ['a name in any order, of inner parts', 'rank jan'],
  ['an address', 'USER-3@example.com'],
  ['a user id', 'user-3'],
])('%s finds the user, with the name first', async (_, text) => {
  const { hits, total, only } = await search(text);
  expect(hits).toEqual([
    {
      kind: 'user',
      ...SCOPE,
      id: 'user-3',
      accountId: 'account-3',
      title: 'Jana Frank',
      detail: 'user-3 · user-3@example.com · account-3',
    },
  ]);
  expect(total).toBe(1);
  expect(only).toMatchObject({ accountId: 'account-3' });
});

test('a part of any code finds its owner', async () => {
  expect(await titles('artner4')).toEqual(['user Novák']);
  expect(await titles('old-code-7')).toEqual(['user user-7']);
});

test('an account is found by a part of its id, and shows the name of a person', async () => {
  expect(await search('count-3')).toMatchObject({
    hits: [{ kind: 'account', title: 'Jana Frank', detail: 'Account account-3', id: 'account-3' }],
    only: { kind: 'account', accountId: 'account-3' },
  });
  const [first] = (await search('account-1')).hits;
  expect(first).toMatchObject({ kind: 'account', id: 'account-1' });
});

test('two letters are enough, and pages follow one another', async () => {
  const all = await titles('us');
  expect(all.length).toBeGreaterThan(10);
  const { total, only } = await search('us');
  expect(total).toBe(all.length);
  expect(only).toBeNull();
  expect([
    ...(await titles('us', { limit: 4 })),
    ...(await titles('us', { limit: 50, offset: 4 })),
  ]).toEqual(all);
});

test('hits that are all about one account lead to it', async () => {
  const shop = anAccount('shop', OTHER);
  const people = ['shop-1', 'shop-2'].map((id) => userIdentified(shop, id));
  await projected.given(shop, accountOpened(shop), ...people);
  const { hits, only } = await search('shop', {}, OTHER);
  expect(hits.map(({ kind }) => kind)).toEqual(['account', 'user', 'user']);
  expect(only).toMatchObject({ kind: 'account', ...OTHER, id: 'shop', accountId: 'shop' });
});

test('a reward and a referral are found by their whole ids', async () => {
  expect((await search('reward-now-3')).hits).toMatchObject([
    { kind: 'reward', title: 'Jana Frank', accountId: 'account-3' },
  ]);
  expect((await search('referral-5')).hits).toMatchObject([
    { kind: 'referral', title: 'bea Zed', accountId: 'account-5' },
  ]);
  expect((await search('referral-')).hits).toEqual([]);
});

test('a webhook, a mail and an export are found by their ids', async () => {
  const [delivery, mail, exported] = [randomUUID(), randomUUID(), randomUUID()];
  const ids = `gen_random_uuid()`;
  await projected.pool.query(
    `insert into ledger.webhook_deliveries
       (id, tenant, mode, endpoint_id, webhook_id, type, subject, created)
     values ($1, 'demo', 'live', 'endpoint', ${ids}, 'UserCreated', '{}', now())`,
    [delivery],
  );
  await projected.pool.query(
    `insert into ledger.mail_deliveries
       (id, tenant, mode, type, account, person, stream, revision, event_id, created)
     values ($1, 'demo', 'live', 'WELCOME', '', ${ids}, '', 0, ${ids}, now())`,
    [mail],
  );
  await projected.pool.query(
    `insert into ${schemaOf('exports', 1)}.exports (export_id, tenant, mode, type, format, status,
       date_created, date_expires) values ($1, 'demo', 'live', 'USER', 'CSV', 'PENDING', 1, 2)`,
    [exported],
  );
  expect(await titles(exported)).toEqual([`export ${exported}`]);
  expect(await search(delivery)).toMatchObject({ only: { kind: 'delivery', id: delivery } });
  expect(await titles(mail)).toEqual([`mail ${mail}`]);
  for (const id of [delivery, mail, exported]) {
    expect(await titles(id, {}, OTHER)).toEqual([]);
    expect(await titles(id, { showsPersonal: false })).toEqual([]);
  }
});

test('without personal data only whole ids of accounts, rewards and referrals are found', async () => {
  const asViewer = { showsPersonal: false };
  for (const text of ['jana', 'user-3', 'count-3', 'PARTNER4'])
    expect((await search(text, asViewer)).hits).toEqual([]);
  const hits = [
    ...(await search('account-3', asViewer)).hits,
    ...(await search('reward-now-3', asViewer)).hits,
    ...(await search('referral-5', asViewer)).hits,
  ];
  expect(hits.map(({ kind, accountId }) => [kind, accountId])).toEqual([
    ['account', 'account-3'],
    ['reward', 'account-3'],
    ['referral', 'account-5'],
  ]);
  expect(JSON.stringify(hits)).not.toMatch(/Jana|Zed|user-/);
});

test('a search of several ledgers shows where each hit is', async () => {
  const found = await search('jana frank', {}, SCOPE, OTHER);
  expect(found.hits.map(({ tenant, id }) => [tenant, id])).toEqual([
    ['other', 'jana@twin'],
    ['demo', 'user-3'],
  ]);
  expect(found.only).toBeNull();
  expect((await search('jana frank')).total).toBe(1);
});

test('the ledgers of all tenants are those with the test data of today', async () => {
  const core = {
    tenantCommands: { list: async () => [{ alias: 'demo' }, { alias: 'other' }] },
    tenants: {
      ledger: async (scope: Scope) =>
        scope.mode === 'test' && scope.tenant === 'other' ? { ...scope, mode: 'test-2' } : scope,
    },
  } as unknown as Parameters<typeof everyLedger>[0];
  expect(await everyLedger(core)).toEqual([
    SCOPE,
    OTHER,
    { tenant: 'demo', mode: 'test' },
    { tenant: 'other', mode: 'test-2' },
  ]);
});

test('a forgotten person is not found, nor what was theirs', async () => {
  for (const text of ['user-9', 'reward-gone-9']) expect((await search(text)).hits).toEqual([]);
});

test('of nothing that was typed nothing is found', async () => {
  expect(await search('  ')).toEqual({ hits: [], total: 0, isAbout: false, only: null });
});

const made = (n: number, people: readonly Partial<ShownPerson>[] = [], showsPersonal = true) => {
  const { accountRef } = accountOf(`account-${n}`);
  const reads = projected.customers(() => NOW);
  const of = { scope: SCOPE, accountRef };
  return referralsMade(reads, of, people as ShownPerson[], showsPersonal);
};

test('the referrals that an account made are shown with the referred people, the newest first, and the reward for each', async () => {
  const { rows, total, why } = await made(3);
  expect(total).toBe(2);
  expect(rows.map(({ referred, referrerRewardId }) => [referred.name, referrerRewardId])).toEqual([
    ['bea Zed', 'reward-friend-3'],
    ['Novák', null],
  ]);
  expect(why).toEqual([]);
});

test('referrals that an account made and that wait for moderation are shown as such', async () => {
  const { why } = await made(2);
  expect(why).toEqual([
    {
      at: expect.any(String) as string,
      referralId: 'referral-3',
      sentence: 'Bo has no reward for referring Jana Frank yet: the referral waits for moderation.',
    },
  ]);
});

test('referrals that an account made and that were denied show whether moderation denied them or the referrer was blocked', async () => {
  expect((await made(10)).why.map(({ sentence }) => sentence)).toEqual([
    'user-10 did not get a reward for referring user-11: moderation denied the referral.',
  ]);
  const blocked = { userId: 'user-10', blockedSince: new Date(3_000).toISOString() };
  expect((await made(10, [blocked])).why.map(({ sentence }) => sentence)).toEqual([
    'user-10 did not get a reward for referring user-11: the referrer was blocked.',
  ]);
});

test('the referrals that an account made name no person without personal data', async () => {
  const shown = JSON.stringify(await made(2, [], false));
  expect(shown).not.toMatch(/Bo|Jana|user-|CODE/);
  expect(shown).toContain('The referrer has no reward for referring a friend yet');
});
