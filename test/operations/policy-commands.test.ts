// Over 5 s: reactions are retried with pauses, and commands each open the stores.
import { showParked } from '../../src/operations/policies/policy.operations.js';
import { query, type Json } from '../support/api-client.js';
import { eventually } from '../support/embedded.js';
import { runHere, type Ran } from '../support/command-line.js';
import { aPerson, PAID, type Person } from '../support/people.js';
import { openOnce } from '../support/opened.js';
import { useService, type TestTenant } from '../support/running-service.js';
import { recordedOperations } from '../support/recorded-operations.js';

/** Commands for parked reactions, next to a running service on the same stores. */

const running = useService();
const core = openOnce(() => running.service.service.core);

const cli = (...words: readonly string[]): Promise<Ran> => runHere(running.stores, words);

/** Grants to this account fail in the database until the function that comes back is called. */
async function refusingGrants(
  { scope }: TestTenant,
  { accountId }: Person,
): Promise<() => Promise<unknown>> {
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, accountId));
  await core.pool.query(
    `create or replace function refuse_grants() returns trigger language plpgsql as
       $$ begin raise exception 'no' using errcode = 'P0001'; end $$;
     create trigger refuse_grants before insert on ledger.events for each row
       when (new.stream = '${stream}' and new.type = 'RewardGranted') execute function refuse_grants()`,
  );
  return () => core.pool.query('drop trigger refuse_grants on ledger.events');
}

async function converts({ live }: TestTenant, { code }: Person): Promise<void> {
  const { accountId: id } = await aPerson(live, {}, { referral: { code } });
  await live.post('/accountsync', { id, subscription: PAID });
}

const credit = async (tenant: TestTenant, { accountId }: Person): Promise<number> => {
  const { body } = await tenant.live.get<readonly Json[]>(`/reward${query({ accountId })}`);
  return body.reduce((sum, reward) => sum + Number(reward['assignedCredit'] ?? 0), 0);
};

/** A grant that is parked while the work is done. */
async function withParked(
  work: () => Promise<unknown>,
): Promise<{ readonly tenant: TestTenant; readonly referrer: Person }> {
  const tenant = await running.service.createTenant();
  const referrer = await aPerson(tenant.live);
  const mend = await refusingGrants(tenant, referrer);
  try {
    await converts(tenant, referrer);
    await eventually(async () => (await showParked(core, 10)).length === 1);
    await work();
  } finally {
    await mend();
  }
  return { tenant, referrer };
}

const retriedLater = () =>
  core.pool.query("update ledger.parked_reactions set next_try_at = now() + interval '1 hour'");

it('policy parked and policy retry show parked reactions and retry them, next to the service', async () => {
  const { tenant, referrer } = await withParked(async () => {
    // The service does not retry for an hour: all later effects are those of the command.
    await core.pool.query(
      "update ledger.parked_reactions set next_try_at = now() + interval '1 hour', parked_at = now() - interval '1 minute'",
    );
    const health = await fetch(`${running.service.origin}/health/ready`);
    expect([health.status, await health.json()]).toMatchObject([
      200,
      {
        status: 'degraded',
        ready: true,
        checks: { policies: { ok: true, parked: 1, heldBack: 0 } },
      },
    ]);
    expect(await (await fetch(`${running.service.origin}/metrics`)).text()).toMatch(
      /^ledger_parked_reactions 1$/m,
    );
    const { code, out } = await cli('policy', 'parked', '--json');
    expect(code).toBe(0);
    const listed = JSON.parse(out) as Record<string, string>[];
    expect(listed).toEqual([
      {
        id: expect.stringMatching(/^\d+$/) as unknown,
        policy: 'grant-referrer-reward-when-earned',
        eventId: expect.any(String) as unknown,
        position: expect.any(String) as unknown,
        reason: expect.stringContaining('P0001') as unknown,
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown,
      },
    ]);
    expect(core.log.isPosition(listed[0]?.['position'] ?? '')).toBe(true);
    const failed = await cli('policy', 'retry', '--all', '--json');
    expect([failed.code, JSON.parse(failed.out)]).toEqual([0, { retried: 1, done: 0, parked: 1 }]);
  });
  await retriedLater();
  const [{ id } = { id: '' }] = await showParked(core, 1);
  const done = await cli('policy', 'retry', id, '--json');
  expect([done.code, JSON.parse(done.out)]).toEqual([0, { retried: 1, done: 1, parked: 0 }]);
  await eventually(async () => (await credit(tenant, referrer)) === 1_000);
  expect(await showParked(core, 10)).toEqual([]);
  const nothing = await cli('policy', 'retry', '--json');
  expect([nothing.code, JSON.parse(nothing.out)]).toEqual([0, { retried: 0, done: 0, parked: 0 }]);
}, 120_000);

test('policy skip ends a parked reaction without running it, and records the operator and the reason', async () => {
  const { tenant, referrer } = await withParked(() => retriedLater());
  const [parked] = await showParked(core, 1);
  const skip = ['policy', 'skip', parked?.id ?? '', '--reason', 'ticket 7', '--by', 'sam'];
  const skipped = await cli(...skip, '--json');
  expect([skipped.code, JSON.parse(skipped.out)]).toEqual([0, parked]);
  expect(await showParked(core, 10)).toEqual([]);
  expect(await recordedOperations(core, tenant.scope)).toMatchObject([
    {
      operation: 'policy skip',
      by: { value: 'sam' },
      parameters: { id: parked?.id, policy: parked?.policy, eventId: parked?.eventId },
      reason: { value: 'ticket 7' },
    },
  ]);
  expect((await cli(...skip)).code).toBe(1);
  // The next reaction of the policy to another stream shows that the service goes its way.
  await converts(tenant, referrer);
  await eventually(async () => (await credit(tenant, referrer)) === 1_000);
  const again = 'select from ledger.retried_reactions where event_id = $1';
  expect((await core.pool.query(again, [parked?.eventId])).rowCount).toBe(0);
}, 120_000);

test('policy parked lists an announcement that failed, policy retry makes its webhooks, and policy skip ends it without.', async () => {
  const tenant = await running.service.createTenant();
  const { scope } = tenant;
  const endpointUrl = 'https://receiver.invalid/webhooks';
  expect((await tenant.live.post('/subscription', { endpointUrl })).status).toBeLessThan(300);
  const { accountId } = await aPerson(tenant.live);
  const stream = core.names.accountStream(scope, core.names.accountRef(scope, accountId));
  const made = async () => {
    const sql =
      'select event_id from ledger.webhook_deliveries where stream = $1 order by revision';
    return (await core.pool.query<{ event_id: string }>(sql, [stream])).rows;
  };
  await eventually(async () => (await made()).length > 0);
  const [first] = await made();
  const park = async () => {
    await core.pool.query('delete from ledger.webhook_deliveries where event_id = $1', [
      first?.event_id,
    ]);
    await core.pool.query(
      `insert into ledger.parked_reactions (event_id, policy, stream, revision, position, reason)
       select event_id, 'webhooks', stream, revision, position, 'Error' from ledger.events where event_id = $1`,
      [first?.event_id],
    );
    const [parked] = await showParked(core, 10);
    expect(parked).toMatchObject({ policy: 'webhooks', eventId: first?.event_id, reason: 'Error' });
    return parked?.id ?? '';
  };
  const retried = await cli('policy', 'retry', await park(), '--json');
  expect(JSON.parse(retried.out)).toEqual({ retried: 1, done: 1, parked: 0 });
  expect(await made()).toContainEqual(first);
  const skipped = await cli('policy', 'skip', await park(), '--reason', 'ticket 8');
  expect([skipped.code, await showParked(core, 10)]).toEqual([0, []]);
  expect(await made()).not.toContainEqual(first);
  expect(await recordedOperations(core, scope)).toMatchObject([
    {
      operation: 'policy skip',
      parameters: { policy: 'webhooks' },
      reason: { value: 'ticket 8' },
    },
  ]);
});
