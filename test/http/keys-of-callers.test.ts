import type { Answer, ApiClient, Json } from '../support/api-client.js';
import {
  outcome,
  personal,
  refusal,
  useSharedService,
  useTenant,
} from '../support/running-service.js';
import { userClient } from '../support/user-tokens.js';
import { useSql } from '../support/database.js';

const running = useSharedService();
const tenant = useTenant(running);
const sql = useSql(() => running.stores.databaseUrl);

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
const NOT_ALLOWED = refusal(403, 'FORBIDDEN');

const visit = ({ accountId, id: userId }: Person): Json => ({
  accountId,
  userId,
  events: [{ key: 'visit', fields: {} }],
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

test('no body and an empty object are one request', async () => {
  const { accountId, id } = await person();
  const [to, key] = [`/account/${accountId}/user/${id}/block`, personal('order')];
  const first = await tenant.live.post(to, undefined, { key });
  const again = await tenant.live.post(to, {}, { key });
  expect([first.status, again.status, replayed(again)]).toEqual([200, 200, 'true']);
});

test('fields that a write token may not write leave the key free', async () => {
  const { at, own, firstName } = await person();
  const key = personal('order');
  expect(outcome(await own.put(at, { firstName: 'Eve' }, { key }))).toEqual(NOT_ALLOWED);
  const allowed = await own.put(at, { firstName }, { key });
  expect([allowed.status, replayed(allowed)]).toEqual([200, null]);
});

test('fields that a write token may not write are refused before a kept answer, whichever token of the user it was for', async () => {
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
