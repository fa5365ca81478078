import { path, query, type ApiClient, type Json } from './api-client.js';
import { personal } from './running-service.js';

export const TRIAL = { status: 'TRIAL' };
export const PAID = {
  status: 'PAID',
  value: 1,
  billingIntervalType: 'DAY',
  billingIntervalValue: 1,
};

export interface Person {
  readonly accountId: string;
  readonly id: string;
  readonly code: string;
  readonly at: string;
}

/** A user in an account of its own. @param user, account what their requests hold as well. */
export async function aPerson(
  api: ApiClient,
  user: Json = {},
  account: Json = {},
): Promise<Person> {
  const [accountId, id] = [personal('acc'), personal('user')];
  await api.post('/accountsync', { id: accountId, subscription: TRIAL, ...account });
  const { status, body } = await api.post('/user', { id, accountId, ...user });
  expect(status).toBe(200);
  const at = `/account${path(accountId)}/user${path(id)}`;
  return { accountId, id, code: String(body['referralCode']), at };
}

/** A user in an account of the same id. @returns the id. */
export async function namesake(api: ApiClient, word: string, fields: Json = {}): Promise<string> {
  const id = personal(word);
  const path = `/open/account/${id}/user/${id}`;
  expect(await api.put(path, { id, accountId: id, ...fields })).toMatchObject({ status: 200 });
  return id;
}

/** A reward for the person, by default of 1000 cents. @returns its id. */
export async function give(
  api: ApiClient,
  { at }: Pick<Person, 'at'>,
  reward: Json = {},
): Promise<string> {
  const credit = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1_000 };
  const { status, body } = await api.post(`/rewards${at}`, { ...credit, ...reward });
  expect(status).toBe(201);
  return String(body['id']);
}

/** The newest referral of the account, as the list of referrals shows it. */
export async function referralOf(api: ApiClient, referredAccountId: string): Promise<Json> {
  const { body } = await api.get<{ referrals: readonly Json[] }>(
    `/referrals${query({ referredAccountId })}`,
  );
  return body.referrals[0] ?? {};
}
