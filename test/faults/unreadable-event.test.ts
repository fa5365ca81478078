import { eventually } from '../support/embedded.js';
import { outcome, personal, refusal, useService, useTenant } from '../support/running-service.js';
import { useSql } from '../support/database.js';

const running = useService();
const tenant = useTenant(running);
const admin = useSql(() => running.stores.databaseUrl);

const sync = (id: string, status: string) =>
  tenant.live.post('/accountsync', { id, subscription: { status } });

async function makeAccount(): Promise<string> {
  const id = personal('acc');
  expect((await sync(id, 'TRIAL')).status).toBe(200);
  expect((await tenant.live.put(`/open/account/${id}/user/${id}`, {})).status).toBe(200);
  return id;
}

/** The newest event of the account is of this version from now on. */
async function setVersion(position: string | null, version: number): Promise<void> {
  const { rowCount } = await admin.query(
    `update ledger.events set metadata = jsonb_set(metadata::jsonb, '{v}', $2::text::jsonb)::text
     where position = $1`,
    [position?.split('-').at(-1), String(version)],
  );
  expect(rowCount).toBe(1);
}

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${running.service.origin}/metrics`)).text();
  const [, value] = new RegExp(`^${name}\\{projection="accounts"\\} (\\d+)`, 'm').exec(text) ?? [];
  return Number(value);
}

const UNAVAILABLE = refusal(503, 'UNAVAILABLE');

it('an event that this release cannot read stops its account alone, which continues by itself once it can be read', async () => {
  const { live } = tenant;
  const account = await makeAccount();
  const other = await makeAccount();
  // The event is written while no process reads it, as a later release would.
  await admin.query(`create function public.later() returns trigger language plpgsql as
    $$ begin new.metadata := jsonb_set(new.metadata::jsonb, '{v}', '99')::text; return new; end $$`);
  await admin.query(`create trigger later before insert on ledger.events for each row
    when (new.type = 'SubscriptionChanged') execute function public.later()`);
  const written = await sync(account, 'FREE');
  await admin.query('drop function public.later cascade');
  // It was written by another process.
  running.service.service.core.forget();
  const position = written.headers.get('ledger-position');
  const id = account;

  await eventually(async () => (await gauge('ledger_projection_unreadable_streams')) === 1);
  await eventually(async () => (await live.get(`/account/${id}`)).status === 503);
  const calls = [
    sync(id, 'TRIAL'),
    live.post('/accountsync', { id, subscription: { status: 'TRIAL' } }, { key: personal('key') }),
    live.get(`/account/${id}`),
    live.get(`/account/${id}/reward`),
    live.get(`/account/${id}/user/${id}`),
    live.get(`/reward/balance?accountId=${id}`),
    live.get(`/open/account/${id}/user/${id}`),
  ];
  for (const answer of await Promise.all(calls)) expect(outcome(answer)).toEqual(UNAVAILABLE);

  expect((await sync(other, 'FREE')).status).toBe(200);
  const shown = await live.get(`/account/${other}`);
  expect(shown.body).toMatchObject({ subscription: { status: 'FREE' } });
  expect((await live.get('/users')).status).toBe(200);
  expect((await fetch(`${running.service.origin}/health/ready`)).status).toBe(200);

  await setVersion(position, 1);
  await eventually(async () => (await live.get(`/account/${id}`)).status === 200);
  expect((await live.get(`/account/${id}`)).body).toMatchObject({
    subscription: { status: 'FREE' },
  });
  expect((await sync(id, 'TRIAL')).status).toBe(200);
  await eventually(async () => (await gauge('ledger_projection_unreadable_streams')) === 0);
}, 120_000);
