import type pg from 'pg';
import { runCommandLine } from '../../src/cli/run-command-line.js';
import { NotDone } from '../../src/operations/outcome.js';
import {
  resendDeliveries,
  showDeliveries,
  showDelivery,
} from '../../src/operations/webhooks/webhook-commands.js';
import { loseTail, numberOf } from '../support/lost-tail.js';
import { holds } from '../support/marks.js';
import { until } from '../support/projected-ledger.js';
import { personal, startWithStores, type TestTenant } from '../support/running-service.js';
import {
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '../support/webhook-receiver.js';

/** What endpoints are not told: what is replayed, what was before them, who was forgotten. */

const WITHIN_MS = 60_000;
jest.setTimeout(180_000);

let running: Awaited<ReturnType<typeof startWithStores>>;
let receiver: WebhookReceiver;
let tenant: TestTenant;
let paths = 0;

beforeAll(async () => {
  running = await startWithStores({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' });
  receiver = await startWebhookReceiver();
});
beforeEach(async () => {
  tenant = await running.service.createTenant();
});
afterAll(async () => {
  await running.end();
  await receiver.stop();
});

const pool = (): pg.Pool => running.service.service.core.pool;
const scope = () => ({ tenant: tenant.alias, mode: 'live' as const });

async function subscribed(): Promise<{ readonly path: string; readonly endpoint: string }> {
  const path = `/hook-${(paths += 1)}`;
  const endpointUrl = receiver.url(path);
  expect((await tenant.live.post('/subscription', { endpointUrl })).status).toBe(201);
  return { path, endpoint: endpointUrl };
}

/** Two webhooks: of the user and of the code. */
async function aUser(): Promise<string> {
  const id = personal('user');
  const accountId = personal('acc');
  const path = `/open/account/${accountId}/user/${id}`;
  await until(
    async () => (await tenant.live.put(path, { id, accountId })).status === 200,
    WITHIN_MS,
  );
  return id;
}

const usersTold = (path: string): readonly string[] =>
  receiver
    .receivedAt(path)
    .map(({ body }) => JSON.parse(body.toString()) as { type: string; data: { id: string } })
    .flatMap(({ type, data }) => (type === 'user.created' ? [data.id] : []));

const deliveries = async (): Promise<number | null> =>
  (await pool().query('select from ledger.webhook_deliveries where tenant = $1', [tenant.alias]))
    .rowCount;

test('a rebuild of all read models, and its switch, send nothing', async () => {
  const { path } = await subscribed();
  const first = await aUser();
  await receiver.requests(path, 2);
  Object.assign(process.env, {
    DATABASE_URL: running.stores.databaseUrl,
    MASTER_KEY_FILE: running.stores.masterKeyFile,
  });
  const out = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const err = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    for (const command of ['rebuild', 'swap'])
      expect(await runCommandLine(['projection', command, '--all', '--json'])).toBe(0);
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
  const second = await aUser();
  await receiver.requests(path, 4);
  expect(usersTold(path)).toEqual([first, second]);
  expect([await deliveries(), receiver.receivedAt(path).length]).toEqual([4, 4]);
});

test('an endpoint is not told what was before it when the log loses its end behind it', async () => {
  const before = [await aUser(), await aUser(), await aUser()];
  const { path } = await subscribed();
  const keep = numberOf(await running.service.head());
  const lost = await aUser();
  await receiver.requests(path, 2);
  await loseTail(pool(), keep);
  const after = await aUser();
  await receiver.until(() => usersTold(path).includes(after));
  expect(usersTold(path)).toEqual([lost, after]);
  expect(before).toHaveLength(3);
});

test('an endpoint that the log lost is told nothing more, and begins anew with its next subscription', async () => {
  const { path: other } = await subscribed();
  const keep = numberOf(await running.service.head());
  const { path, endpoint } = await subscribed();
  const lost = await aUser();
  await receiver.until(() => usersTold(path).includes(lost) && usersTold(other).includes(lost));
  await loseTail(pool(), keep);
  const unheard = await aUser();
  await receiver.until(() => usersTold(other).includes(unheard));
  expect((await tenant.live.post('/subscription', { endpointUrl: endpoint })).status).toBe(201);
  const heard = await aUser();
  await receiver.until(() => usersTold(path).includes(heard));
  expect(usersTold(path)).toEqual([lost, heard]);
});

/** Every row of every table, as a logical dump has them. */
async function dump(): Promise<Buffer> {
  const { rows } = await pool().query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_class c
     join pg_namespace n on n.oid = relnamespace
     where relkind = 'r' and relpersistence <> 't' and has_table_privilege(c.oid, 'select')`,
  );
  const texts: string[] = [];
  for (const { name } of rows) {
    const table = await pool().query<{ row: string }>(`select t::text as row from ${name} t`);
    texts.push(...table.rows.map(({ row }) => row));
  }
  return Buffer.from(texts.join('\n'));
}

/** The answers of an endpoint that operators can still read. */
async function shownAnswers(endpoint: string): Promise<readonly string[]> {
  const { core } = running.service.service;
  const found = await showDeliveries(core, scope(), { endpoint, limit: 100 });
  if (found instanceof NotDone) throw new Error('the deliveries are not shown');
  const each = await Promise.all(found.map(({ id }) => showDelivery(core, scope(), id)));
  return each.flatMap((shown) =>
    shown instanceof NotDone ? [] : shown.attempts.flatMap(({ answer }) => answer ?? []),
  );
}

test('a forgotten person is in no retry, resend, row, shown answer, log line or dump', async () => {
  const mark = 'gqzwbkn';
  const [good, bad] = [await subscribed(), await subscribed()];
  receiver.behave(good.path, { kind: 'answer', body: `seen ${mark}` });
  receiver.behave(bad.path, { kind: 'answer', status: 503, body: `no ${mark}` });
  const [accountId, id] = [`${mark}acc`, `${mark}user`];
  const sync = (account: string, more: object = {}) =>
    tenant.live.post('/accountsync', { id: account, subscription: { status: 'TRIAL' }, ...more });
  const named = { firstName: `${mark}first`, lastName: `${mark}last`, referralCode: `${mark}code` };
  expect((await sync(accountId)).status).toBe(200);
  const person = { id, accountId, email: `${mark}@mail.example`, ...named };
  expect((await tenant.live.post('/user', person)).status).toBe(200);
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 5, name: `${mark}reward` };
  expect((await tenant.live.post(`/rewards/account/${accountId}/user/${id}`, reward)).status).toBe(
    201,
  );
  const friend = personal('friend');
  expect((await sync(friend, { referral: { code: `${mark}code` } })).status).toBe(200);
  expect((await tenant.live.post('/user', { id: friend, accountId: friend })).status).toBe(200);
  const told = await receiver.requests(good.path, 8);
  // All but the friend's own code and reward.
  expect(told.filter(isNamed)).toHaveLength(6);
  await receiver.requests(bad.path, 3);
  const seen = `seen ${mark}`;
  await until(async () => (await shownAnswers(good.endpoint)).length === 8, WITHIN_MS);
  expect(new Set(await shownAnswers(good.endpoint))).toEqual(new Set([seen]));
  // One of each state, with an answer that names the person.
  await until(async () => {
    const { rows } = await pool().query<{ state: string }>(
      `select distinct state from ledger.webhook_deliveries d
       join ledger.webhook_attempts a on a.delivery_id = d.id
       where tenant = $1 and beginning is not null`,
      [tenant.alias],
    );
    return rows.length === 2;
  }, WITHIN_MS);
  await until(async () => {
    const { rowCount } = await pool().query(
      `update ledger.webhook_deliveries
       set state = 'DEAD', next_attempt_at = null, ended_at = now()
       where id = (
         select id from ledger.webhook_deliveries
         where tenant = $1 and state = 'PENDING' and attempts > 0 and leased_until is null
         order by id limit 1
       )`,
      [tenant.alias],
    );
    return rowCount === 1;
  }, WITHIN_MS);

  const gone = await tenant.live.call('DELETE', `/open/account/${accountId}`);
  expect(gone.status).toBe(204);
  // To what names the friend alone.
  expect(await shownAnswers(good.endpoint)).toEqual([seen, seen]);
  await until(async () => holds(await dump(), mark) === undefined, WITHIN_MS);
  const before = receiver.received.length;
  receiver.behave(bad.path, { kind: 'answer' });
  for (const { endpoint } of [good, bad])
    await resendDeliveries(running.service.service.core, scope(), {
      endpoint,
      since: '2020-01-01',
    });
  // One that was under way is not resent; its failure would make it wait for minutes.
  await until(async () => {
    const { rows } = await pool().query<{ id: string }>(
      "select id from ledger.webhook_deliveries where tenant = $1 and state = 'PENDING'",
      [tenant.alias],
    );
    for (const which of rows) await resendDeliveries(running.service.service.core, scope(), which);
    return rows.length === 0;
  }, WITHIN_MS);
  // The friend is told of again, and the referral without its referrer.
  const again = receiver.received.slice(before);
  expect(again.length).toBeGreaterThanOrEqual(4);
  expect(again.filter(isNamed)).toEqual([]);
  await until(async () => holds(await dump(), mark) === undefined, WITHIN_MS);
  expect(holds(Buffer.from(running.service.logText), mark)).toBeUndefined();

  function isNamed({ body }: ReceivedRequest): boolean {
    return holds(body, mark) !== undefined;
  }
});
