import { storesAnswerIn } from '../../src/observability/health.js';
import type { Answer } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { userClient } from '../support/user-tokens.js';
import { useSql } from '../support/database.js';

/** The other states are classified in test/postgres/database.test.ts. */
const REFUSALS = [
  ['25006', 'read-only after a fail-over'],
  ['53100', 'disk full'],
  ['40P01', 'a deadlock'],
] as const;

const running = useService();
const tenant = useTenant(running);
const admin = useSql(() => running.stores.databaseUrl);

beforeAll(async () => {
  storesAccept = storesAnswerIn(running.service.service.core);
});

/** From now on every statement that changes a table of the service fails with this state. */
async function refuseWrites(state: string): Promise<void> {
  await admin.query(
    `create or replace function public.refuse() returns trigger language plpgsql as
       $$ begin raise exception 'refused' using errcode = '${state}'; end $$`,
  );
  await admin.query(`do $$ declare t record; begin
    for t in select schemaname, tablename from pg_tables where schemaname in ('ledger', 'vault') loop
      execute format('create or replace trigger refuse before insert or update or delete or truncate on %I.%I for each statement execute function public.refuse()',
        t.schemaname, t.tablename);
    end loop; end $$`);
}

const acceptWrites = (): Promise<unknown> =>
  admin.query('drop function if exists public.refuse cascade');

interface Account {
  readonly accountId: string;
  readonly userId: string;
  readonly rewardId: string;
  readonly code: string;
  /** Another account, which no code was applied to. */
  readonly guest: string;
}

const at = ({ accountId, userId }: Pick<Account, 'accountId' | 'userId'>): string =>
  `/open/account/${accountId}/user/${userId}`;

async function makeAccount(): Promise<Account> {
  const who = { accountId: personal('acc'), userId: personal('user') };
  const made = await tenant.live.put<{ referralCode: string }>(at(who), { id: who.userId });
  expect(made.status).toBe(200);
  const reward = await tenant.live.post<{ id: string }>(
    `/rewards/account/${who.accountId}/user/${who.userId}`,
    { type: 'CREDIT', unit: 'CENTS', assignedCredit: 100 },
  );
  expect(reward.status).toBe(201);
  const guest = personal('acc');
  expect((await tenant.live.put(at({ accountId: guest, userId: guest }), {})).status).toBe(200);
  return { guest, ...who, rewardId: reward.body.id, code: made.body.referralCode };
}

type Calls = Readonly<Record<string, () => Promise<Answer<unknown>>>>;

function writesOf(account: Account): Calls {
  const { live } = tenant;
  const { accountId, userId, rewardId, code, guest } = account;
  const as = userClient(tenant, accountId, userId);
  const redeem = { amount: 1, unit: 'CENTS' };
  const fresh = (): { accountId: string; userId: string } => ({
    accountId: personal('acc'),
    userId: personal('user'),
  });
  const others = { userId, accountId, events: [{ key: 'purchase' }] };
  return {
    'a new user': () => live.put(at(fresh())),
    'a new user of its own': () => {
      const { accountId: account, userId: user } = fresh();
      return userClient(tenant, account, user, { firstName: 'A' }).put(
        at({ accountId: account, userId: user }),
        { firstName: 'A' },
      );
    },
    'a changed user': () => live.put(at(account), { firstName: personal('name') }),
    'a redemption': () => live.post(`/credit/${rewardId}/redeem`, redeem),
    'a redemption with a key': () =>
      live.post(`/credit/${rewardId}/redeem`, redeem, { key: personal('key') }),
    'a subscription': () =>
      live.post('/accountsync', { id: accountId, subscription: { status: 'FREE' } }),
    'events of a user, counted': () => as.post(`${at(account)}/events`, others),
    'a code applied, counted': () =>
      userClient(tenant, guest, guest, { firstName: 'A' }).post(
        `/open/code/${code}/account/${guest}/user/${guest}`,
      ),
    'a forgotten user': () => live.call('DELETE', at(account)),
  };
}

function readsOf(account: Account): Calls {
  const { live } = tenant;
  const { accountId, userId, code } = account;
  const as = userClient(tenant, accountId, userId);
  return {
    'an account': () => live.get(`/account/${accountId}`),
    rewards: () => live.get(`/reward?accountId=${accountId}`),
    'a balance': () => live.get(`/reward/balance?accountId=${accountId}`),
    'the user, counted': () => as.get(at(account)),
    'a code, counted': () => as.get(`/open/code/${code}`),
  };
}

async function statusesOf(calls: Calls): Promise<Readonly<Record<string, number>>> {
  const answered = Object.entries(calls).map(
    async ([name, call]) => [name, (await call()).status] as const,
  );
  return Object.fromEntries(await Promise.all(answered));
}

const everyOne = (calls: Calls, status: number): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.keys(calls).map((name) => [name, status]));

async function readiness(): Promise<{ readonly status: number; readonly problem: unknown }> {
  const answer = await fetch(`${running.service.origin}/health/ready`);
  const { checks } = (await answer.json()) as { checks: { postgres: { problem?: string } } };
  return { status: answer.status, problem: checks.postgres.problem };
}

/** What a write asks that is under way for long. */
let storesAccept: () => Promise<boolean>;

const isReady = async (): Promise<boolean> => (await readiness()).status === 200;

it.each(REFUSALS)(
  'while writes fail with %s (%s) every write is answered 503, reads go on, and readiness says so',
  async (state) => {
    const account = await makeAccount();
    await eventually(isReady);
    const reads = readsOf(account);
    // A read model that lacks a write now would be waited for until writes are accepted.
    expect(await statusesOf(reads)).toEqual(everyOne(reads, 200));
    await refuseWrites(state);
    try {
      const writes = writesOf(account);
      const [written, read] = await Promise.all([statusesOf(writes), statusesOf(reads)]);
      expect(written).toEqual(everyOne(writes, 503));
      expect(read).toEqual(everyOne(reads, 200));
      // The try of a moment before is remembered for a second.
      await eventually(async () => !(await isReady()));
      expect(await readiness()).toEqual({
        status: 503,
        problem: `the database accepts no writes: error ${state}`,
      });
      // What was asked just before is remembered for a second.
      await eventually(async () => !(await storesAccept()));
    } finally {
      await acceptWrites();
    }
    await eventually(isReady);
    await eventually(storesAccept);
    const writes = writesOf(account);
    const after = Object.values(await statusesOf(writes));
    expect(after.filter((status) => status >= 500)).toEqual([]);
  },
  60_000,
);
