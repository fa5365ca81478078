import { parse } from 'csv-parse/sync';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { useFolder } from '../support/folder.js';
import { runHere } from '../support/command-line.js';
import { useService, type TestTenant, useTenant } from '../support/running-service.js';

const running = useService();
const folder = useFolder();
const tenant = useTenant(running, { each: true });

const at = (name: string): string => join(folder, name);
const cli = (...words: readonly string[]) => runHere(running.stores, words);

async function imports(kind: string, content: string, ...more: readonly string[]) {
  await writeFile(at(`${kind}.csv`), content);
  const words = ['--file', at(`${kind}.csv`), '--rejected', at('rejected.csv'), '--json', ...more];
  const { code, out, err } = await cli('import', kind, tenant.alias, ...words);
  const answer = (out === '' ? {} : JSON.parse(out)) as Record<string, unknown>;
  return { code, err, answer, rejected: await readFile(at('rejected.csv'), 'utf8') };
}

const USERS = `id,accountId,email,referralCode,accountStatus,paymentProviderId
ann,a,ann@moved.example,ANN1,PAID,cus_1
ben,b,,BEN1,TRIAL,
cat,c,,,,
`;

test('users, referrals and rewards come in, a second time unchanged, and the figures agree', async () => {
  const referrals =
    'referredAccount,referredUser,referrerAccount,referrerUser,id\nb,ben,a,ann,r1\n';
  const rewards = `type,accountId,userId,id,unit,amount,redeemed,dateScheduledFor
CREDIT,a,ann,w1,CENTS,500,200,
CREDIT,b,ben,w2,CENTS,300,,2090-01-01
PCT_DISCOUNT,b,ben,w3,%,10,,
`;
  const control = { rewards: 2, assigned: 800, redeemed: 200, available: 300 };
  for (const [imported, unchanged] of [
    [3, 0],
    [0, 3],
  ]) {
    const users = await imports('users', USERS);
    expect([users.code, users.answer]).toMatchObject([0, { rows: 3, imported, unchanged }]);
    await imports('referrals', referrals, '--ids', at('ids.csv'));
    expect(await readFile(at('ids.csv'), 'utf8')).toMatch(
      /^kind,imported,ledger\nreferrals,r1,\w+\S*\n$/,
    );
    expect((await imports('rewards', rewards, '--ids', at('ids.csv'))).answer).toEqual({
      kind: 'rewards',
      rows: 3,
      imported,
      unchanged,
      rejected: 0,
      control: [{ unit: 'CENTS', file: control, ledger: control }],
    });
    expect((await readFile(at('ids.csv'), 'utf8')).split('\n')).toHaveLength(5);
  }
  expect((await stat(at('rejected.csv'))).mode & 0o777).toBe(0o600);
  const reconciled = await cli('ledger', 'reconcile', tenant.alias, '--json');
  expect(JSON.parse(reconciled.out)).toMatchObject({ ok: true });
});

type Kind = 'users' | 'referrals' | 'rewards';
type Row = Readonly<Record<string, string>>;

const NEW = { id: 'new', accountId: 'new' };
const CREDIT = { type: 'CREDIT', accountId: 'a', userId: 'ann', unit: 'CENTS', amount: '100' };
const REFERRAL = {
  referredAccount: 'c',
  referredUser: 'cat',
  referrerAccount: 'a',
  referrerUser: 'ann',
};

const WRONG: readonly (readonly [Kind, Row, column: string])[] = [
  ['users', { ...NEW, id: 'x'.repeat(256) }, 'id'],
  ['users', { ...NEW, email: 'no address' }, 'email'],
  ['users', { ...NEW, locale: 'english' }, 'locale'],
  ['users', { ...NEW, countryCode: 'XX' }, 'countryCode'],
  ['users', { ...NEW, imageUrl: 'ftp://x' }, 'imageUrl'],
  ['users', { ...NEW, referralCode: 'with space' }, 'referralCode'],
  ['users', { ...NEW, accountStatus: 'ACTIVE' }, 'accountStatus'],
  ['users', { ...NEW, accountCurrency: 'USDX' }, 'accountCurrency'],
  ['users', { ...NEW, 'customFields.plan': 'x'.repeat(1025) }, 'customFields'],
  ['referrals', { ...REFERRAL, referredModerationStatus: 'MAYBE' }, 'referredModerationStatus'],
  ['rewards', { ...CREDIT, type: 'GIFT' }, 'type'],
  ['rewards', { ...CREDIT, unit: '' }, 'unit'],
  ['rewards', { ...CREDIT, amount: '' }, 'amount'],
  ['rewards', { ...CREDIT, currency: 'US' }, 'currency'],
  ['rewards', { type: 'FUELTANK', accountId: 'a', userId: 'ann', amount: '5' }, 'fuelTankCode'],
];

test('a dry run names the column of each wrong value, and writes nothing', async () => {
  const before = await running.service.eventsOf(tenant);
  const found: unknown[] = [];
  for (const kind of ['users', 'referrals', 'rewards'] as const) {
    const rows = WRONG.flatMap(([of, row]) => (of === kind ? [row] : []));
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const lines = rows.map((row) => columns.map((column) => row[column] ?? '').join(','));
    const file = [columns.join(','), ...lines].join('\n');
    const { code, rejected } = await imports(kind, file, '--dry-run');
    expect([kind, code]).toEqual([kind, 2]);
    const reasons = rejected.trim().split('\n').slice(1);
    found.push(...reasons.map((line) => /,\d+,"?BAD_REQUEST: (\w+)/.exec(line)?.[1] ?? line));
  }
  expect(found).toEqual(WRONG.map(([, , column]) => column));
  expect(await running.service.eventsOf(tenant)).toBe(before);
});

test.each([
  ['a file that is not there', ['--file', 'nothing.csv'], /cannot read nothing.csv: ENOENT/],
  ['a folder', ['--file', tmpdir()], /is no file/],
  ['results in the file itself', ['--file', 'x', '--rejected', './x'], /need files of their own/],
  ['both results in one file', ['--file', 'x', '--ids', 'y', '--rejected', './y'], /must differ/],
  ['results next to the file', ['--file', 'x.part', '--rejected', 'x'], /must differ/],
])('%s is an error in one line', async (_, words, line) => {
  const { code, err } = await cli('import', 'users', tenant.alias, ...words);
  expect([code, err.trim().split('\n').length]).toEqual([1, 1]);
  expect(err).toMatch(line);
});

test('a link to the file is the file, and results that are not wanted may share the null device', async () => {
  await writeFile(at('linked.csv'), 'id,accountId\nu,a\n');
  await symlink(folder, at('link'));
  const words = ['import', 'users', tenant.alias, '--file', at('linked.csv')];
  const refused = await cli(...words, '--rejected', at('link/linked.csv'));
  expect([refused.code, refused.out]).toEqual([1, '']);
  expect(refused.err).toContain('must differ');
  expect((await cli(...words, '--rejected', devNull, '--ids', devNull)).code).toBe(0);
});

test('ignored columns and a missing status are named', async () => {
  const { code, err, answer } = await imports('users', 'id,accountId,phone\nu,a,1\n');
  expect([code, answer['imported']]).toEqual([0, 1]);
  expect(err).toContain('ignored columns: phone');
  expect(err).toContain('no column accountStatus');
});

/** People who referred each other, redeemed, cancelled and paid. */
async function story({ live }: TestTenant): Promise<void> {
  const open = (account: string, user: string, more: object = {}) =>
    live.post(`/open/account/${account}/user/${user}`, { id: user, accountId: account, ...more });
  const ann = await open('a', 'ann', {
    firstName: '=Ann',
    lastName: "'t Hooft",
    email: 'ann@moved.example',
    segments: ['vip', 'early'],
    customFields: { plan: 'gold' },
    locale: 'de_DE',
  });
  const code = String(ann.body['referralCode']);
  for (const [account, user] of [
    ['b', 'ben'],
    ['c', 'cat'],
  ] as const)
    await open(account, user, { firstName: user, referredBy: { code, isConverted: false } });
  const billing = { billingIntervalType: 'MONTH', billingIntervalValue: 1, value: 10 };
  await live.post('/accountsync', { id: 'b', subscription: { status: 'PAID', ...billing } });
  const reward = {
    accountId: 'a',
    userId: 'ann',
    type: 'CREDIT',
    unit: 'POINTS',
    assignedCredit: 50,
  };
  await live.post('/reward', { ...reward, name: 'Old, and "kept"' });
  await live.post('/reward', {
    ...reward,
    assignedCredit: 70,
    dateScheduledFor: Date.UTC(2090, 0),
  });
  const cancelled = await live.post('/reward', { ...reward, assignedCredit: 90 });
  await live.post(`/reward/${String(cancelled.body['id'])}/cancel`);
  await live.post('/credit/bulkredeem', { accountId: 'a', unit: 'POINTS', amount: 20 });
}

/** Columns that a move changes: ids of the ledger, links, and what is not imported. */
const CHANGED =
  /^(?:shareLink|\w+ShareLink|\w+SeenIP|referralSource|\w+Reward|dateModerated|dateConverted)$/;

async function exported(alias: string, type: string): Promise<{ file: string; rows: unknown[] }> {
  const file = at(`${alias}-${type}.csv`);
  const { code, err } = await cli('export', 'run', alias, '--type', type, '--out', file);
  expect([type, code, code === 0 ? '' : err]).toEqual([type, 0, '']);
  const records = parse<Record<string, string>>(await readFile(file), { columns: true });
  const rows = records.map((record) =>
    Object.fromEntries(
      Object.entries(record).filter(
        ([name]) => !CHANGED.test(name) && !(name === 'id' && type !== 'USER'),
      ),
    ),
  );
  const textOf = (row: unknown): string => JSON.stringify(row);
  return { file, rows: rows.sort((one, other) => textOf(one).localeCompare(textOf(other))) };
}

test('exports of a tenant, imported into an empty one, give the same exports and balances', async () => {
  const source = await running.service.createTenant();
  await story(source);
  const { core, policies } = running.service.service;
  await policies.waitFor((await core.log.head()) ?? '', 20_000);
  const from = source.alias;
  for (const [kind, type] of [
    ['users', 'USER'],
    ['referrals', 'REFERRAL'],
    ['rewards', 'REWARD'],
  ] as const) {
    const { file, rows } = await exported(from, type);
    expect(rows.length).toBeGreaterThan(1);
    const { code, answer, rejected } = await imports(kind, await readFile(file, 'utf8'));
    expect([kind, code, rejected.split('\n').length]).toEqual([kind, 0, 2]);
    expect(answer).toMatchObject({ rows: rows.length, imported: rows.length });
  }
  for (const type of ['USER', 'REFERRAL', 'REWARD', 'REWARD_BALANCE'])
    expect([type, (await exported(tenant.alias, type)).rows]).toEqual([
      type,
      (await exported(from, type)).rows,
    ]);
  const balances = await exported(from, 'REWARD_BALANCE');
  const against = ['ledger', 'reconcile', tenant.alias, '--against', balances.file, '--json'];
  const { out } = await cli(...against);
  expect(JSON.parse(out)).toMatchObject({ ok: true, differences: [] });
  const replayed = await cli('ledger', 'replay', tenant.alias, '--json');
  expect(JSON.parse(replayed.out)).toMatchObject({ differences: [] });
}, 120_000);
