import {
  basic,
  path,
  type Answer,
  type ApiClient,
  type CallOptions,
  type Json,
} from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { aPerson, PAID, referralOf, TRIAL, type Person } from '../support/people.js';
import { sendRaw } from '../support/raw-http.js';
import {
  outcome,
  personal,
  refusal,
  RunningService,
  useService,
  expectRefusal,
  expectAnswer,
  useTenant,
} from '../support/running-service.js';
import { useSql } from '../support/database.js';
import { openOnce } from '../support/opened.js';

/** Two services on one database. Over 5 s: each write is sent through both of them. */

const running = useService();
const second = openOnce(() => RunningService.start(running.stores), 'stop');
const tenant = useTenant(running);
const api = openOnce(() => tenant.live);
const there = openOnce(() => second.client(tenant.alias, `:${tenant.liveKey}`));
const sql = useSql(() => running.stores.databaseUrl);

const CREDIT = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };

const person = (account: Json = {}): Promise<Person> => aPerson(api, {}, account);

async function reward(): Promise<string> {
  return String((await api.post(`/rewards${(await person()).at}`, CREDIT)).body['id']);
}

async function referral(): Promise<string> {
  const { accountId } = await person({ referral: { code: (await person()).code } });
  return String((await referralOf(api, accountId))['id']);
}

interface Write {
  readonly method?: 'POST' | 'PUT' | 'DELETE';
  readonly to: string;
  readonly body?: Json;
  readonly otherBody?: Json;
}

/** A write, and how its body differs in another request of the same form. */
const written = (
  to: string,
  body: Json,
  change: Json,
  method: Write['method'] = 'POST',
): Write => ({
  method,
  to,
  body,
  otherBody: { ...body, ...change },
});
const empty = (to: string, method: Write['method'] = 'POST'): Write => ({
  method,
  to,
  otherBody: { x: 1 },
});

/** One of each route that writes, ready to be sent. */
const WRITES: Readonly<Record<string, () => Promise<Write>>> = {
  accountsync: () =>
    Promise.resolve(
      written(
        '/accountsync',
        { id: personal('acc'), subscription: TRIAL },
        { subscription: { status: 'FREE' } },
      ),
    ),
  'accountsync PAID': async () => {
    const { accountId: id } = await person({ referral: { code: (await person()).code } });
    const body = { id, subscription: PAID };
    return written('/accountsync', body, { subscription: { ...PAID, value: 2 } });
  },
  user: async () => {
    const { accountId } = await person({ referral: { code: (await person()).code } });
    const body = { id: personal(), accountId, firstName: personal() };
    return written('/user', body, { firstName: personal() });
  },
  block: async () => empty(`${(await person()).at}/block`),
  unblock: async () => {
    const { at } = await person();
    await api.post(`${at}/block`);
    return empty(`${at}/unblock`);
  },
  'apply a code': async () => {
    const [{ code }, { at }] = [await person(), await person()];
    return empty(`/open/code/${code}${at}`);
  },
  moderate: async () => {
    const referralId = await referral();
    const actions = (action: string) => ({ actions: [{ referralId, action }] });
    return written('/referrals/moderate', actions('DENIED'), actions('APPROVED'));
  },
  'bulk redeem': async () => {
    const { accountId, at } = await person();
    await api.post(`/rewards${at}`, CREDIT);
    return written('/credit/bulkredeem', { accountId, amount: 7, unit: 'CENTS' }, { amount: 8 });
  },
  redeem: async () =>
    written(`/credit/${await reward()}/redeem`, { amount: 7, unit: 'CENTS' }, { amount: 8 }),
  cancel: async () => empty(`/reward/${await reward()}/cancel`),
  'open upsert': () => {
    const body = { id: personal('user'), accountId: personal('acc'), firstName: personal() };
    const to = `/open/account${path(body.accountId)}/user${path(body.id)}`;
    return Promise.resolve(written(to, body, { firstName: personal() }, 'PUT'));
  },
  'open create': () => {
    const body = { id: personal('user'), accountId: personal('acc'), firstName: personal() };
    const to = `/open/account${path(body.accountId)}/user${path(body.id)}`;
    return Promise.resolve(written(to, body, { firstName: personal() }));
  },
  'cookie user': () => {
    const [body, other] = [{ firstName: personal() }, { firstName: personal() }];
    return Promise.resolve(written('/open/user/cookie_user', body, other, 'PUT'));
  },
  'forget a user': async () => empty(`/open${(await person()).at}`, 'DELETE'),
  'forget an account': async () =>
    empty(`/open/account${path((await person()).accountId)}`, 'DELETE'),
  events: async () => {
    const { accountId, id, at } = await person();
    const body = { userId: id, accountId, events: [{ key: 'purchase', fields: {} }] };
    return written(`/open${at}/events`, body, { events: [{ key: 'signup', fields: {} }] });
  },
  'give a reward': async () =>
    written(`/rewards${(await person()).at}`, CREDIT, { assignedCredit: 101 }),
};
const EACH_WRITE = Object.keys(WRITES);
const STATUS: Readonly<Record<string, number>> = {
  'give a reward': 201,
  'open create': 201,
  'forget a user': 204,
  'forget an account': 204,
};

const send = (
  client: ApiClient,
  { method = 'POST', to, body }: Write,
  options?: CallOptions,
): Promise<Answer> => client.call(method, to, body, options);
const replayed = ({ headers }: Answer<unknown>) => headers.get('idempotency-replayed');
const position = ({ headers }: Answer<unknown>) => headers.get('ledger-position');
const whole = (answer: Answer<unknown>) => ({ ...outcome(answer), position: position(answer) });
const IN_PROGRESS = refusal(409, 'REQUEST_IN_PROGRESS');

describe.each(EACH_WRITE)('%s with a key', (name) => {
  test('takes effect once in both services and with a lost answer, and refuses another body', async () => {
    const write = await WRITES[name]!();
    const key = personal('key');
    const first = await send(api, write, { key });
    expect([first.status, replayed(first), position(first)]).toStrictEqual([
      STATUS[name] ?? 200,
      null,
      expect.any(String),
    ]);
    // What it set off is in the log as soon as a read has been answered.
    await api.get('/users?limit=0');
    const head = await running.service.head();

    const again = await send(there, write, { key });
    expect([whole(again), replayed(again)]).toStrictEqual([whole(first), 'true']);
    const other = () => send(api, { ...write, body: write.otherBody }, { key });
    const REUSED = { ...refusal(422, 'IDEMPOTENCY_KEY_REUSED'), position: null };
    expect(whole(await other())).toStrictEqual(REUSED);

    // A process died between the effect and its answer: what is in the log is the answer, as it was
    // then.
    await sql.query('delete from ledger.idempotency_keys');
    expect(whole(await other())).toStrictEqual(REUSED);
    const fromLog = await send(there, write, { key });
    // The repetition of a forgetting names the position of its request, not that of its end.
    expect(whole(fromLog)).toStrictEqual({
      ...whole(first),
      ...(name.startsWith('forget') ? { position: position(fromLog) } : {}),
    });
    expect([replayed(fromLog), position(fromLog)]).toStrictEqual(['true', expect.any(String)]);
    expect(await running.service.head()).toBe(head);
  });
});

const eventsOf = ({ id: userId, accountId }: Omit<Person, 'at'>): Json => ({
  userId,
  accountId,
  events: [{ key: 'visit', fields: {} }],
});
const referredBy = (code: string): Write => ({
  method: 'PUT',
  to: `/open/account${path(personal('acc'))}/user${path(personal('user'))}`,
  body: { referredBy: { code } },
});

test.each<[string, (owner: Person) => Write, Json]>([
  [
    'a reward',
    ({ at }) => ({ to: `/rewards${at}`, body: { ...CREDIT, name: 'Thanks' } }),
    { userId: null, accountId: expect.any(String), assignedCredit: 100, name: null },
  ],
  [
    'a user',
    ({ id, accountId }) => ({ to: '/user', body: { id, accountId, firstName: 'Ann' } }),
    { id: null, firstName: null, email: null },
  ],
  [
    'events',
    ({ at, ...who }) => ({ to: `/open${at}/events`, body: eventsOf(who) }),
    { userId: null, events: null },
  ],
  ['a block', ({ at }) => ({ to: `${at}/block` }), {}],
  [
    'an account that is referred',
    ({ code }) => ({
      to: '/accountsync',
      body: { id: personal('acc'), subscription: TRIAL, referral: { code } },
    }),
    { id: expect.any(String), referral: null },
  ],
  [
    'a user who is referred',
    ({ code }) => referredBy(code),
    {
      referredBy: { code: null, isConverted: false, newlyReferred: true },
      referredByCodes: [],
    },
  ],
])(
  'an effect of %s whose answer was lost is the answer, without the person who is forgotten by now',
  async (_what, writeTo, shown) => {
    const owner = await person();
    const write = writeTo(owner);
    const key = personal('key');
    const first = await send(api, write, { key });
    expect(first.status).toBeLessThan(300);
    expect((await api.call('DELETE', `/open${owner.at}`)).status).toBe(204);
    // As it is answered from what is kept, and as from the log alone.
    const kept = await send(api, write, { key });
    await sql.query('delete from ledger.idempotency_keys');
    const fromLog = await send(there, write, { key });
    for (const again of [kept, fromLog]) {
      expect([again.status, replayed(again)]).toStrictEqual([first.status, 'true']);
      expect(again.body).toMatchObject(shown);
    }
    expect(Object.keys(fromLog.body).sort()).toEqual(Object.keys(first.body).sort());
  },
);

test('an effect of a user whose answer was lost is the answer, the referrer having been forgotten before it', async () => {
  const owner = await person();
  const write = referredBy(owner.code);
  await send(api, write);
  await api.call('DELETE', `/open${owner.at}`);
  const key = personal('key');
  const update = { ...write, body: { locale: 'de_DE' } };
  const first = await send(api, update, { key });
  expect(first.body).toMatchObject({ referredBy: { code: null } });
  const kept = await send(api, update, { key });
  await sql.query('delete from ledger.idempotency_keys');
  const fromLog = await send(there, update, { key });
  expect([whole(kept), whole(fromLog)]).toStrictEqual([whole(first), whole(first)]);
});

test('a key keeps the refusal although the same request would now succeed', async () => {
  const { at } = await person();
  const key = personal('key');
  expect((await api.post(`${at}/unblock`, undefined, { key })).status).toBe(403);
  await api.post(`${at}/block`);
  const again = await there.post(`${at}/unblock`, undefined, { key });
  expectRefusal(again, 403, 'USER_NOT_BLOCKED');
  expect(replayed(again)).toBe('true');
  expect(outcome(await api.post(`${at}/unblock`, { x: 1 }, { key }))).toStrictEqual(
    refusal(422, 'IDEMPOTENCY_KEY_REUSED'),
  );
  expect((await api.post(`${at}/unblock`)).status).toBe(200);
});

test('a key of a request that runs is answered with 409, here and there, until it is done', async () => {
  const id = await reward();
  const key = personal('key');
  const call = (client: ApiClient) =>
    client.post(`/credit/${id}/redeem`, { amount: 3, unit: 'CENTS' }, { key });
  // The head of the log cannot be moved while another transaction holds its row.
  await sql.query('begin');
  await sql.query('select 1 from ledger.log_head for update');
  const first = call(api);
  await eventually(
    async () =>
      (await sql.query('select 1 from ledger.idempotency_keys where answer is null')).rowCount ===
      1,
  );
  try {
    for (const client of [api, there])
      expect(outcome(await call(client))).toStrictEqual(IN_PROGRESS);
  } finally {
    await sql.query('rollback');
  }
  expectAnswer(await first, 200, { creditRedeemed: 3, creditAvailable: 97, unit: 'CENTS' });
  expect(whole(await call(there))).toStrictEqual(whole(await first));
});

test('a position is in the answer to every write, even without a change, and not in a refusal', async () => {
  const { accountId, at, id } = await person();
  const { body } = await api.post(`/rewards${at}`, CREDIT);
  const first = await api.post(`/reward/${String(body['id'])}/cancel`);
  const nothing = [
    await api.post('/accountsync', { id: accountId, subscription: TRIAL }),
    await api.post('/user', { id, accountId }),
    await api.post(`/reward/${String(body['id'])}/cancel`),
  ];
  for (const answer of nothing)
    expect([answer.status, position(answer)]).toStrictEqual([200, position(first)]);
  expect(position(await api.post(`${at}/unblock`))).toBeNull();
  const referralId = await referral();
  const deny = () =>
    api.post('/referrals/moderate', { actions: [{ referralId, action: 'DENIED' }] });
  for (const answer of [await deny(), await deny()])
    expect([answer.status, position(answer)]).toStrictEqual([200, expect.any(String)]);
});

test('a position that exists is waited for by every read', async () => {
  const atLeast = (await running.service.head())!;
  for (const to of [
    '/account/a',
    '/account/a/reward',
    '/user?referralCode=a',
    '/account/a/user/a',
    '/users',
    '/code/a',
    '/referrals',
    '/referrals/a',
    '/reward?accountId=a',
    '/reward/balance?accountId=a',
    '/reward/a',
  ])
    expect([200, 201, 404]).toContain((await there.get(to, { atLeast })).status);
});

test('a position that is malformed, of another log or beyond the newest one is refused', async () => {
  const to = '/account/a';
  const head = (await running.service.head())!;
  const [log = '', digits = ''] = head.split('-');
  const other = `${log.startsWith('0') ? '1' : '0'}${log.slice(1)}-${digits}`;
  for (const atLeast of [
    'x',
    digits,
    `${log}-01`,
    other,
    `${log}-999999999999`,
    `${log}-9223372036854775807`,
  ]) {
    expect([atLeast, outcome(await api.get(to, { atLeast }))]).toStrictEqual([
      atLeast,
      refusal(400, 'POSITION_INVALID'),
    ]);
  }
});

test('a position of a write whose read models do not move is missing, and the answer says what is included', async () => {
  const here = await RunningService.start(running.stores, {
    ROLES: 'api',
    OWN_WRITES_WAIT_MS: '100',
    POSITION_WAIT_MS: '100',
  });
  interface Health {
    readonly status: string;
    readonly ready: boolean;
    readonly checks: Readonly<Record<string, { readonly ok: boolean }>>;
  }
  const health = async (): Promise<Health> =>
    (await (await fetch(`${here.origin}/health/ready`)).json()) as Health;
  try {
    const client = here.client(tenant.alias, `:${tenant.liveKey}`);
    const before = (await running.service.head())!;
    await eventually(
      async () => (await client.get('/users?limit=0', { atLeast: before })).status === 200,
    );
    const counted = await client.get('/users?limit=0');
    expect([counted.status, counted.headers.get('ledger-stale')]).toEqual([200, null]);
    const held = await running.service.service.core.pool.connect();
    await held.query('begin');
    await held.query('lock table ledger.projection_checkpoints in exclusive mode');
    try {
      const written = await client.post(`/rewards${(await person()).at}`, CREDIT);
      for (let again = 0; again < 2; again++) {
        const stale = await client.get('/users?limit=0');
        expect([stale.status, stale.headers.get('ledger-stale')]).toEqual([200, before]);
        expect(stale.body).toEqual(counted.body);
      }
      const atLeast = position(written)!;
      const late = await client.get('/users?limit=0', { atLeast });
      expectRefusal(late, 503, 'POSITION_NOT_REACHED');
      expect(late.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      await eventually(async () => (await health()).checks['projection users']?.ok === false);
      expect(await health()).toMatchObject({ status: 'degraded', ready: true });
      // The first scrape of this process.
      const metrics = await (await fetch(`${here.origin}/metrics`)).text();
      expect(metrics).toMatch(/^ledger_follower_still_seconds\{follower="users"} \d{2}/m);
      expect(metrics).toMatch(/^ledger_projection_lag_seconds\{projection="users"} \d{2}/m);
      expect(metrics).toMatch(/^ledger_projection_lag_events\{projection="users"} [1-9]/m);
      expect(metrics).toMatch(/^ledger_policies_lag_seconds \d/m);
    } finally {
      await held.query('rollback');
      held.release();
    }
    await eventually(async () => {
      const read = await client.get('/users?limit=0');
      return read.headers.get('ledger-stale') === null && (await health()).status === 'ready';
    });
  } finally {
    await here.stop();
  }
});

/** The read models cannot be written while this runs; they can be read. */
async function whileReadModelsStand(tableName: string, during: () => Promise<void>): Promise<void> {
  const { rows } = await sql.query<{ name: string }>(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables where table_name = $1`,
    [tableName],
  );
  expect(rows.length).toBeGreaterThan(0);
  await sql.query('begin');
  await sql.query(`lock table ${rows.map(({ name }) => name).join(', ')} in exclusive mode`);
  try {
    await during();
  } finally {
    await sql.query('rollback');
  }
}

test('one own write is waited for by the next read, with any key, on any connection, in its mode only', async () => {
  const rotated = await running.service.service.core.tenantCommands.rotateKeys(
    tenant.alias,
    ['live'],
    3_600_000,
  );
  if ('refused' in rotated) throw new Error(rotated.refused);
  const accountId = personal('acc');
  const pathname = `/api/v1/${tenant.alias}/account/${accountId}`;
  await tenant.test.get('/users?limit=0');
  const waiting: Promise<unknown>[] = [];
  await whileReadModelsStand('accounts', async () => {
    const written = await api.post('/accountsync', { id: accountId, subscription: TRIAL });
    expect(written.status).toBe(200);
    waiting.push(
      api.get(`/account/${accountId}`).then(outcome),
      api.as(`:${rotated.live}`).get(`/account/${accountId}`).then(outcome),
      sendRaw(
        Number(new URL(api.origin).port),
        `GET ${pathname} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic(`:${tenant.liveKey}`)}\r\n\r\n`,
      ).then(([answer]) => ({ status: answer!.status, body: answer!.json })),
      there.get(`/account/${accountId}`, { atLeast: position(written)! }).then(outcome),
    );
    const early = await Promise.race([
      ...waiting.map((read) => read.then(() => 'a read')),
      tenant.test.get('/users?limit=0').then(() => 'the other mode'),
    ]);
    expect(early).toBe('the other mode');
  });
  const body = { id: accountId, currency: 'USD', subscription: TRIAL, referral: null };
  expect(await Promise.all(waiting)).toStrictEqual(
    Array.from({ length: 4 }, () => ({ status: 200, body })),
  );
});

test('one own write that another service answers again is waited for there', async () => {
  const { at, id, accountId } = await person();
  const key = personal('key');
  const change = { id, accountId, firstName: personal('Ann') };
  const otherMode = second.client(tenant.alias, `:${tenant.testKey}`);
  await Promise.all([there.get(at), otherMode.get('/users?limit=0')]);
  let read: Promise<Answer> | undefined;
  await whileReadModelsStand('users', async () => {
    expect((await api.post('/user', change, { key })).status).toBe(200);
    expect(replayed(await there.post('/user', change, { key }))).toBe('true');
    read = there.get(at);
    const early = await Promise.race([
      read.then(() => 'the read'),
      otherMode.get('/users?limit=0').then(() => 'the other mode'),
    ]);
    expect(early).toBe('the other mode');
  });
  expect((await read!).body['firstName']).toBe(change.firstName);
});
