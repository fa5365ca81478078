// Over 5 s: commands on a service of its own, which each open the stores.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { parseProgram, PROGRAM_SCHEMA } from '../../src/operations/tenants/program-schema.js';
import { useFolder } from '../support/folder.js';
import { eventually } from '../support/embedded.js';
import { runHere, runShipped, type Ran } from '../support/command-line.js';
import { personal, useService } from '../support/running-service.js';

const running = useService();
const folder = useFolder();

const cli = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

async function json(...words: readonly string[]): Promise<Record<string, unknown>> {
  const ran = await cli(...words, '--json');
  expect(ran).toMatchObject({ code: 0 });
  return JSON.parse(ran.out) as Record<string, unknown>;
}

async function refused(...words: readonly string[]): Promise<string> {
  const ran = await cli(...words);
  expect(ran).toMatchObject({ code: 1, out: '' });
  // One clear line, no stack.
  expect(ran.err).toMatch(/^[^\n]+\n$/);
  return ran.err.trim();
}

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

const statusWith = async (alias: string, key: string, path = 'users'): Promise<number> =>
  (
    await fetch(`${running.service.origin}/api/v1/${alias}/${path}`, {
      headers: { authorization: `Basic ${btoa(`:${key}`)}` },
    })
  ).status;

/** As soon as the service has heard of what a command changed. */
const becomes = (status: number, shown: () => Promise<number>): Promise<void> =>
  eventually(async () => (await shown()) === status);

test('a tenant that a command creates is valid at the next request of the running service', async () => {
  expect(await statusWith('made', 'any')).toBe(404);
  const made = await json('tenant', 'create', 'made');
  expect(made).toEqual({
    alias: 'made',
    liveApiKey: expect.stringMatching(/^live_[0-9a-f]{48}$/),
    testApiKey: expect.stringMatching(/^test_[0-9a-f]{48}$/),
    liveSigningSecret: expect.stringMatching(/^live_secret_[0-9a-f]{48}$/),
    testSigningSecret: expect.stringMatching(/^test_secret_[0-9a-f]{48}$/),
  });
  expect(await statusWith('made', String(made['liveApiKey']))).toBe(200);
  expect(await refused('tenant', 'create', 'made')).toBe('there is a tenant made already');

  const shown = await cli('tenant', 'show', 'made', '--json');
  const listed = await cli('tenant', 'list', '--json');
  for (const { out } of [
    shown,
    listed,
    await cli('tenant', 'show', 'made'),
    await cli('tenant', 'list'),
  ]) {
    expect(out).toContain('made');
    for (const [name, secret] of Object.entries(made))
      if (name !== 'alias') expect(out).not.toContain(secret);
  }
  expect(JSON.parse(shown.out)).toMatchObject({
    alias: 'made',
    programType: 'API_ONLY',
    openEndpoints: false,
    defaultProgram: 'default',
  });
  expect((JSON.parse(listed.out) as { alias: string }[]).map(({ alias }) => alias)).toEqual([
    'made',
  ]);
  // No terminal: for other programs.
  expect((await cli('tenant', 'list', '--wide')).out).toBe(
    'alias\tprogram type\topen endpoints\tprograms\nmade\tAPI_ONLY\toff\tdefault\n',
  );
});

test('the shipped command line answers the same, with the same exit code', async () => {
  for (const words of [
    ['tenant', 'list', '--json'],
    ['tenant', 'show', 'missing'],
  ])
    expect(await runShipped(running.stores, words)).toEqual(await cli(...words));
});

test('a rotated key is replaced immediately, valid for the grace, and leaves the other mode unchanged', async () => {
  const made = await json('tenant', 'create', 'rotated');
  const first = await json('tenant', 'rotate-key', 'rotated', '--grace', '1h');
  expect(Object.keys(first)).toEqual(['alias', 'liveApiKey']);
  const status = (key: unknown) => statusWith('rotated', String(key));
  await becomes(200, () => status(first['liveApiKey']));
  expect(await status(made['liveApiKey'])).toBe(200);
  const second = await json('tenant', 'rotate-key', 'rotated', '--grace', '0');
  await becomes(200, () => status(second['liveApiKey']));
  expect(await status(first['liveApiKey'])).toBe(401);
  expect(await status(made['liveApiKey'])).toBe(401);
  expect(await status(made['testApiKey'])).toBe(200);
  const ofTest = await json('tenant', 'rotate-key', 'rotated', '--mode', 'test');
  expect(Object.keys(ofTest)).toEqual(['alias', 'testApiKey']);
});

test('a signing secret rotates, a tenant is suspended and resumed, tokens get an earliest moment; nothing shows a secret', async () => {
  const made = await json('tenant', 'create', 'closing', '--open-endpoints');
  const rotated = await json('tenant', 'rotate-secret', 'closing', '--mode', 'test');
  expect(rotated).toStrictEqual({
    alias: 'closing',
    testSigningSecret: expect.stringMatching(/^test_secret_[0-9a-f]{48}$/) as unknown,
  });
  const { out } = await cli('token', 'sign', 'closing', '--account', 'a', '--user', 'u');
  const statusOf = async () =>
    (
      await running.service
        .client('closing', undefined)
        .as({ token: out.trim() })
        .get('/open/account/a/user/u')
    ).status;
  await becomes(404, statusOf);
  await json('tenant', 'rotate-secret', 'closing', '--grace', '0');
  await becomes(401, statusOf);

  const key = String(made['liveApiKey']);
  const suspended = await json('tenant', 'suspend', 'closing', '--reason', 'a leaked key');
  expect(suspended).toMatchObject({ suspended: { reason: 'a leaked key' } });
  await becomes(403, () => statusWith('closing', key));
  expect((await cli('tenant', 'show', 'closing')).out).toContain('a leaked key');
  expect(await json('tenant', 'resume', 'closing')).toMatchObject({ suspended: null });
  await becomes(200, () => statusWith('closing', key));

  const update = (time: string) => json('tenant', 'update', 'closing', '--tokens-not-before', time);
  expect(await update('2026-01-01')).toMatchObject({ tokensNotBefore: '2026-01-01T00:00:00.000Z' });
  expect(await update('none')).toMatchObject({ tokensNotBefore: null });
  const head = await running.service.head();
  for (const [words, text] of [
    [['update', 'closing', '--tokens-not-before', 'yesterday'], 'takes a time such as'],
    [['update', 'closing', '--tokens-not-before', '2999-01-01'], 'lies in the future'],
    [['suspend', 'closing'], '--reason'],
    [['suspend', 'closing', '--reason', ' '], '--reason'],
  ] as const)
    expect(await refused('tenant', ...words)).toContain(text);
  expect(await running.service.head()).toBe(head);
  const shown = `${(await cli('tenant', 'show', 'closing')).out}${(await cli('tenant', 'show', 'closing', '--json')).out}`;
  for (const secret of [...Object.values(made), ...Object.values(rotated)])
    if (secret !== 'closing') expect(shown).not.toContain(secret);
});

test('bad input ends with one line and exit 1, and changes nothing', async () => {
  await json('tenant', 'create', 'safe');
  const before = await running.service.head();
  const bad = await file(
    'bad.json',
    '{"id":"x","bar":2,"referrerReward":{"type":"CREDIT","unit":"C","assignedCredit":-5,"foo":1}}',
  );
  const refusal = await refused('program', 'apply', 'safe', bad);
  for (const path of ['/bar', '/referrerReward/foo', '/referrerReward/assignedCredit'])
    expect(refusal).toContain(path);
  expect(await refused('program', 'apply', 'safe', await file('broken.json', '{'))).toContain(
    'is no JSON',
  );
  const latin1 = join(folder, 'latin1.json');
  await writeFile(latin1, Buffer.from('{"id":"x",\n"name":"Prämie"}', 'latin1'));
  expect(await refused('program', 'apply', 'safe', latin1)).toBe(
    `${latin1}: line 2 is not valid UTF-8; save the file as UTF-8`,
  );
  const nul = await file('nul.json', '{"id":"x","eventRewards":[{"key":"a\\u0000"}]}');
  expect(await refused('program', 'apply', 'safe', nul)).toBe(
    `${nul}: /eventRewards/0/key holds a NUL character or half a surrogate pair`,
  );
  expect(await refused('tenant', 'suspend', 'safe', '--reason', 'Pr\uFFFDmie')).toContain(
    'argument 5 is not valid UTF-8',
  );
  expect(await refused('program', 'apply', 'missing', await file('fine.json', '{"id":"x"}'))).toBe(
    'there is no tenant missing',
  );
  expect(await refused('tenant', 'create')).toContain('missing required argument');
  expect(await refused('tenant', 'create', 'x', '--unknown')).toContain('--unknown');
  expect(await refused('tenant', 'update', 'safe')).toContain('nothing to change');
  expect(await refused('tenant', 'rotate-key', 'safe', '--grace', 'soon')).toContain('duration');
  expect(await refused('tenant', 'rotate-key', 'safe', '--mode', 'both')).toContain('--mode');
  expect(await running.service.head()).toBe(before);
});

test('the documented schema is the applied one, and the default program fits it', async () => {
  expect(JSON.parse(await readFile('docs/generated/program.schema.json', 'utf8'))).toEqual(
    PROGRAM_SCHEMA,
  );
  expect(parseProgram(DEFAULT_PROGRAM)).toEqual(DEFAULT_PROGRAM);
});

const discount = { type: 'PCT_DISCOUNT', discountPercent: 5 };
const tank = { type: 'FUELTANK', fuelTankCodes: ['A'], fuelTankType: 'CREDIT', amount: 1 };
const referred = (reward: object) => ({ id: 'a', referredReward: reward });
const referrer = (over: object) => ({
  id: 'a',
  referrerReward: { type: 'CREDIT', unit: 'C', assignedCredit: 1, ...over },
});
const onEvent = (over: object) => ({ id: 'a', eventRewards: [{ key: 'k', to: 'USER', ...over }] });
const paidTo = { payTo: 'provider' };

test.each([
  [{}, '/'],
  [{ id: 'a b' }, '/id'],
  [{ id: 'a', landingPage: 'ftp://x' }, '/landingPage'],
  [referred({ type: 'GOLD' }), '/referredReward/type'],
  [referred({ ...discount, discountPercent: 101 }), '/referredReward/discountPercent'],
  [referred({ ...discount, unit: 'x' }), '/referredReward/unit'],
  [{ id: 'a', moderation: { referred: 'DENIED' } }, '/moderation/referred'],
  [referrer({ assignedCredit: 2 ** 53 }), '/referrerReward/assignedCredit'],
  [referrer({ unit: 'C\u0085' }), '/referrerReward/unit'],
  [referrer({ currency: 'ABC' }), '/referrerReward/currency'],
  [referrer({ validDays: 0 }), '/referrerReward/validDays'],
  [referrer({ unit: 'POINTS', currency: 'USD', ...paidTo }), '/referrerReward/unit'],
  [referrer({ unit: 'CENTS', currency: null, ...paidTo }), '/referrerReward/currency'],
  [referred({ ...discount, payTo: 'bank' }), '/referredReward/payTo'],
  [referrer({ limit: { total: 0 } }), '/referrerReward/limit/total'],
  [referred({ ...tank, fuelTankCodes: ['A', 'A'] }), '/referredReward/fuelTankCodes'],
  [referred({ ...tank, amount: 0 }), '/referredReward/amount'],
  [referred({ type: 'FUELTANK', fuelTankType: 'CREDIT', amount: 1 }), '/referredReward'],
  [{ id: 'a', conversion: { on: 'EVENT' } }, '/conversion'],
  [{ id: 'a', conversion: { on: 'PAID', key: 'k' } }, '/conversion/key'],
  [
    { id: 'a', conversion: { on: 'EVENT', key: 'k', minimum: { field: 'total', value: '5' } } },
    '/conversion/minimum/value',
  ],
  [onEvent({ reward: { ...discount, when: 'STARTED' } }), '/eventRewards/0/reward/when'],
  [onEvent({ to: 'ALL', reward: discount }), '/eventRewards/0/to'],
  [onEvent({}), '/eventRewards/0'],
  [onEvent({ reward: discount, refund: { key: 'r' } }), '/eventRewards/0/refund'],
  [onEvent({ reward: discount, refund: { key: 'k', field: 'f' } }), '/eventRewards/0/refund/key'],
  [
    { id: 'a', conversion: { on: 'EVENT', key: 'k', refund: { key: 'k', field: 'f' } } },
    '/conversion/refund/key',
  ],
  [{ id: 'a', conversion: { on: 'PAID', refund: { key: 'r', field: 'f' } } }, '/conversion/refund'],
  [{ id: 'a', automaticRedemption: ['FUELTANK'] }, '/automaticRedemption/0'],
  [{ id: 'a', fraud: { ip: 'forbid' } }, '/fraud/ip'],
  [{ id: 'a', fraud: { phone: 'deny' } }, '/fraud/phone'],
  [{ id: 'a', rateLimit: { minutes: 0 } }, '/rateLimit/minutes'],
])('%j is refused at %s', (program, path) => {
  const parsed = parseProgram(program);
  expect(
    'problems' in parsed && Array.isArray(parsed.problems)
      ? parsed.problems.map((problem: string) => problem.split(' ')[0])
      : [],
  ).toContain(path);
});

test('privacy commands list erasures without names, scrub, and replay', async () => {
  const tenant = await running.service.createTenant();
  const user = { accountId: personal('acc'), id: personal('user') };
  await tenant.live.post('/accountsync', { id: user.accountId, subscription: { status: 'TRIAL' } });
  await tenant.live.post('/user', user);
  expect(
    (await tenant.live.call('DELETE', `/open/account/${user.accountId}?doNotTrack=true`)).status,
  ).toBe(204);
  const { out: listed } = await cli('privacy', 'list-erasures');
  const [erasure] = JSON.parse(listed) as readonly unknown[];
  expect(erasure).toMatchObject({
    tenant: tenant.alias,
    mode: 'live',
    persons: [expect.any(String)],
  });
  for (const text of Object.values(user)) expect(listed).not.toContain(text);
  expect(
    await json('privacy', 'replay-erasures', '--from', await file('erasures.jsonl', listed)),
  ).toMatchObject({ destroyed: 0 });
  expect(
    await refused('privacy', 'replay-erasures', '--from', await file('no.jsonl', '{}')),
  ).toContain('is no erasure');

  expect(await json('privacy', 'scrub')).toEqual({
    tables: expect.any(Number) as unknown,
    walRemoved: true,
  });
  const { code, out, err } = await cli('privacy', 'scrub');
  expect([code, out]).toEqual([0, expect.stringMatching(/^\d+ tables rewritten\n$/)]);
  expect(err).toContain('rewrote vault.subject_keys');
}, 60_000);

test('token sign makes a token that the open endpoints accept, of either mode', async () => {
  const { liveKey, liveSecret } = await running.service.createTenant({ alias: 'tokens' });
  const call = async (token: string, init: RequestInit = {}) => {
    const path = '/api/v1/tokens/open/account/a%3A1/user/u1';
    return fetch(`${running.service.origin}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
  };
  const words = ['token', 'sign', 'tokens', '--account', 'a:1', '--user', 'u1'];
  const writing = await cli(
    ...words,
    '--write',
    'firstName=Ann',
    'customFields={"plan":"x"}',
    '--expires',
    '5m',
  );
  expect(writing).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/) as unknown,
  });
  const put = await call(writing.out.trim(), {
    method: 'PUT',
    body: JSON.stringify({ firstName: 'Ann', customFields: { plan: 'x' } }),
  });
  expect([put.status, await put.json()]).toMatchObject([
    200,
    { firstName: 'Ann', customFields: { plan: 'x' } },
  ]);
  const { token } = await json(...words, '--mode', 'test');
  expect((await call(String(token))).status).toBe(404);
  for (const secret of [liveKey, liveSecret]) expect(writing.out).not.toContain(secret);
});

test('token sign reports an error in one line', async () => {
  await running.service.createTenant({ alias: 'signing' });
  const sign = (...words: readonly string[]) => refused('token', 'sign', ...words);
  expect(await sign('nowhere', '--account', 'a', '--user', 'u')).toBe('there is no tenant nowhere');
  expect(await sign('signing', '--account', 'a', '--user', 'u', '--write', 'shoeSize=5')).toContain(
    '"shoeSize" is no field',
  );
  expect(
    await sign('signing', '--account', 'a', '--user', 'u', '--write', 'email=missing'),
  ).toContain('email must be an e-mail address');
  expect(await sign('signing', '--account', 'a', '--user', 'u', '--expires', '0')).toContain(
    '--expires',
  );
});

test('a tenant sets how people see its units, and what support may grant', async () => {
  await running.service.createTenant({ alias: 'units' });
  const units = (...words: readonly string[]) => json('tenant', 'units', 'units', ...words);
  const cents = { unit: 'CENTS', currency: null, digits: 2 };
  const miles = { unit: 'Miles', currency: 'EUR', digits: 0 };
  expect(await units()).toEqual([cents]);
  const own = { unit: 'CENTS', currency: 'USD', digits: 3 };
  expect(await units('--set', 'cents=USD:3', 'Miles=EUR:0')).toEqual([own, miles]);
  expect(await units('--set', 'CENTS=none')).toEqual([cents, miles]);
  const limit = ['tenant', 'update', 'units', '--grant-limit'] as const;
  await json(...limit, 'CENTS=500', 'Miles=0');
  const after = { units: [cents, miles], grantLimits: { Miles: 0 }, testClock: null };
  expect(await json(...limit, 'cents=none')).toMatchObject(after);
  for (const words of [['C=USX:2'], ['C=USD:5'], ['=USD:2'], ['C'], ['A=USD:2', 'a=none']])
    expect(await refused('tenant', 'units', 'units', '--set', ...words)).toMatch(/^--set /);
  expect(await refused(...limit, 'CENTS=1.5')).toMatch(/^--grant-limit takes/);
});

test('a tenant sets the rules of its open endpoints', async () => {
  await running.service.createTenant({ alias: 'rules' });
  const update = (...words: readonly string[]) => json('tenant', 'update', 'rules', ...words);
  const origin = ['--allow-origin', 'https://shop.example'];
  const limits = ['--rate-limit', 'code=5', 'apply-code=0'];
  expect(
    await update('--token-expiry', ...origin, ...limits, '--public-user', 'minimal'),
  ).toMatchObject({
    publicUser: 'minimal',
    tokensMustExpire: true,
    allowedOrigins: ['https://shop.example'],
    rateLimits: { code: 5, 'apply-code': 0, 'create-user': 50 },
  });
  expect(await update('--no-token-expiry', '--allow-origin', '*')).toMatchObject({
    tokensMustExpire: false,
    allowedOrigins: [],
    rateLimits: { code: 5 },
    publicUser: 'minimal',
  });
  expect(await update('--public-user', 'full')).toMatchObject({ publicUser: 'full' });
  for (const [option, value] of [
    ['--allow-origin', 'https://shop.example/path'],
    ['--rate-limit', 'everything=5'],
    ['--public-user', 'none'],
  ] as const) {
    expect(await refused('tenant', 'update', 'rules', option, value)).toContain(option);
  }
});
