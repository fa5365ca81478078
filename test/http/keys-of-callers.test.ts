import pg from 'pg';
import type { Answer, ApiClient, CallOptions, Json } from '../support/api-client.js';
import {
  outcome,
  personal,
  refusal,
  useSharedService,
  type TestTenant,
} from '../support/running-service.js';
import { token, userClient } from '../support/user-tokens.js';

const running = useSharedService();
let tenant: TestTenant;
let sql: pg.Client;
beforeAll(async () => {
  tenant = await running.service.createTenant();
  sql = new pg.Client(running.stores.databaseUrl);
  await sql.connect();
});
afterAll(() => sql.end());

interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly firstName: string;
  readonly at: string;
  /** Of the person's own, with a write token. */
  readonly own: ApiClient;
}

async function person(): Promise<Person> {
  const [accountId, id, firstName] = [personal('acc'), personal('user'), personal('Ann')];
  const at = `/open/account/${accountId}/user/${id}`;
  expect((await tenant.live.put(at, { firstName })).status).toBe(200);
  return { accountId, id, firstName, at, own: userClient(tenant, accountId, id, { firstName }) };
}

const replayed = ({ headers }: Answer<unknown>) => headers.get('idempotency-replayed');
const REUSED = refusal(422, 'IDEMPOTENCY_KEY_REUSED');
const NOT_ALLOWED = refusal(403, 'FORBIDDEN');

const visit = ({ accountId, id: userId }: Person): Json => ({
  accountId,
  userId,
  events: [{ key: 'visit', fields: {} }],
});

test('a key belongs to its caller: the API keys of the tenant, or one user', async () => {
  const [ann, bob] = [await person(), await person()];
  const key = personal('order');
  const readToken = userClient(tenant, ann.accountId, ann.id);
  const post = (client: ApiClient, who: Person, over: Json = {}) =>
    client.post(`${who.at}/events`, { ...visit(who), ...over }, { key });
  const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 };
  const first = await Promise.all([
    post(readToken, ann),
    post(bob.own, bob),
    tenant.live.post(`/rewards/account/${ann.accountId}/user/${ann.id}`, reward, { key }),
  ]);
  expect(first.map((answer) => [answer.status, replayed(answer)])).toEqual([
    [200, null],
    [200, null],
    [201, null],
  ]);
  // All tokens of a user share the user's keys.
  expect([replayed(await post(ann.own, ann)), replayed(await post(bob.own, bob))]).toEqual([
    'true',
    'true',
  ]);
  expect(outcome(await post(ann.own, ann, { x: 1 }))).toEqual(REUSED);
  expect(outcome(await post(tenant.live, ann))).toEqual(REUSED);
});

test('a user who was deleted and exists again has the keys of before', async () => {
  const ann = await person();
  const key = personal('order');
  expect((await ann.own.post(`${ann.at}/events`, visit(ann), { key })).status).toBe(200);
  expect((await tenant.live.call('DELETE', ann.at)).status).toBe(204);
  expect((await tenant.live.put(ann.at, {})).status).toBe(200);
  const again = await ann.own.post(`${ann.at}/events`, visit(ann), { key });
  expect([again.status, replayed(again), again.body['userId']]).toEqual([200, 'true', null]);
});

describe('a key of an anonymous token has no effect', () => {
  test.each(['visitor', 'x'.repeat(256)])('%s', async (key) => {
    const claims = { authentication: 'unauthenticated', user: { id: 'u', accountId: 'a' } };
    const anonymous = tenant.live.as({ token: token(tenant.liveSecret, claims) });
    const put = (body: Json, options: CallOptions = { key }) =>
      anonymous.put('/open/user/cookie_user', body, options);
    expect(outcome(await put({ firstName: 'Eve' }))).toEqual(NOT_ALLOWED);
    const [first, second] = [await put({}), await put({})];
    expect([first.status, second.status, replayed(second)]).toEqual([200, 200, null]);
    expect(second.body['id']).not.toBe(first.body['id']);
  });
});

describe('fields that a write token may not write', () => {
  test('leave the key free', async () => {
    const { at, own, firstName } = await person();
    const key = personal('order');
    expect(outcome(await own.put(at, { firstName: 'Eve' }, { key }))).toEqual(NOT_ALLOWED);
    const allowed = await own.put(at, { firstName }, { key });
    expect([allowed.status, replayed(allowed)]).toEqual([200, null]);
  });

  test('are refused before a kept answer, whichever token of the user it was for', async () => {
    const { accountId, id, at, own, firstName } = await person();
    const other = userClient(tenant, accountId, id, { lastName: 'Lee' });
    const key = personal('order');
    const first = await own.put(at, { firstName }, { key });
    expect(first.status).toBe(200);
    await tenant.live.put(at, { firstName: personal('Bea') });
    expect(outcome(await other.put(at, { firstName }, { key }))).toEqual(NOT_ALLOWED);
    // Nor from the log.
    await sql.query('delete from ledger.idempotency_keys');
    expect(outcome(await other.put(at, { firstName }, { key }))).toEqual(NOT_ALLOWED);
    const again = await own.put(at, { firstName }, { key });
    expect([outcome(again), replayed(again)]).toEqual([outcome(first), 'true']);
  });
});
