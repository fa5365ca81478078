import { everythingProjected } from '../support/everything-projected.js';
import { replayLedger } from '../support/operations.js';
import { path, query, type Json } from '../support/api-client.js';
import { personal, useService } from '../support/running-service.js';

/** `constructor`, `__proto__` and the like are ordinary values wherever a name is free. */

const running = useService();

describe.each(['constructor', '__proto__'])('a ledger of %s', (unit) => {
  const [programId, segment, eventKey, rewardName, accountId, id] = [
    unit,
    unit,
    unit,
    unit,
    unit,
    unit,
  ];
  // No member of a body may be called __proto__.
  const field = unit === '__proto__' ? 'constructor' : unit;

  test('is created, read, redeemed, erased and replayed without a difference', async () => {
    const { core } = running.service.service;
    const credit = { type: 'CREDIT', unit, assignedCredit: 100, name: rewardName };
    const tenant = await running.service.createTenant({
      alias: unit.toLowerCase(),
      program: {
        id: programId,
        referredReward: null,
        referrerReward: { ...credit, when: 'STARTED' },
        eventRewards: [
          { to: 'USER', key: eventKey, minimum: { field, value: 2 }, reward: { ...credit } },
        ],
      },
    });
    const api = tenant.live;
    const asked = { id, accountId, segments: [segment], customFields: { [field]: 'x' } };
    await api.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } });
    const made = await api.post('/user', asked);
    expect(made.status).toBe(200);
    expect(made.body['segments']).toEqual([segment]);
    expect(Object.entries(made.body['customFields'] as Json)).toEqual([[field, 'x']]);
    for (const member of ['referralCodes', 'programShareLinks'])
      expect(Object.keys(made.body[member] as Json)).toEqual([programId]);
    const code = (made.body['referralCodes'] as Json & Record<string, string>)[programId]!;

    // A friend, whom its code refers.
    const friend = { id: personal('usr'), accountId: personal('acc') };
    await api.post('/accountsync', {
      id: friend.accountId,
      subscription: { status: 'TRIAL' },
      referral: { code },
    });
    await api.post('/user', friend);

    const ofUser = `account${path(accountId)}/user${path(id)}`;
    const event = await api.post(`/open/${ofUser}/events`, {
      userId: id,
      accountId,
      events: [{ key: eventKey, fields: { [field]: 3 } }],
    });
    expect(event.status).toBeLessThan(300);
    const most = { ...credit, assignedCredit: Number.MAX_SAFE_INTEGER };
    expect((await api.post(`/rewards/${ofUser}`, most)).body).toMatchObject({
      apiErrorCode: 'AMOUNT_TOO_LARGE',
    });
    const redeemed = await api.post('/credit/bulkredeem', {
      accountId,
      userId: id,
      unit,
      amount: 30,
    });
    expect(redeemed.status).toBeLessThan(300);
    const balances = await api.get(`/reward/balance${query({ accountId })}`);
    expect(balances.body).toMatchObject([{ unit, totalAvailableCredit: 170 }]);

    const replayed = async (): Promise<void> => {
      await everythingProjected(core);
      const scope = { tenant: tenant.alias, mode: 'live' } as const;
      expect(await replayLedger(core, scope, {})).toMatchObject({ differences: [] });
      const { rows } = await core.pool.query<{ available: Record<string, unknown> }>(
        `select available from rm_daily_figures_1.credit_holders where tenant = $1`,
        [tenant.alias],
      );
      for (const amount of rows.flatMap(({ available }) => Object.values(available)))
        expect(typeof amount).toBe('number');
    };
    await replayed();
    expect((await api.call('DELETE', `/open/${ofUser}`)).status).toBe(204);
    await replayed();
    const parked = await core.pool.query('select 1 from ledger.parked_streams');
    expect(parked.rowCount).toBe(0);
  });
});
