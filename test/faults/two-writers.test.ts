import {
  createStores,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

/** Two services on one database, each with a memory of its own of the same accounts. */
describe('two services that write to the same accounts', () => {
  let stores: TestStores;
  let services: RunningService[] = [];
  let tenant: TestTenant;
  let one: TestTenant['live'];
  let other: TestTenant['live'];

  beforeAll(async () => {
    stores = await createStores();
    services = [await RunningService.start(stores), await RunningService.start(stores)];
    tenant = await services[0]!.createTenant();
    one = tenant.live;
    other = services[1]!.client(tenant.alias, `:${tenant.liveKey}`);
  });

  afterAll(async () => {
    for (const service of services.reverse()) await service.stop();
    await stores.remove();
  });

  const identified = async (accountId: string, userId = accountId, more: object = {}) => {
    expect(
      (await one.post('/accountsync', { id: accountId, subscription: { status: 'TRIAL' } })).status,
    ).toBe(200);
    expect((await one.post('/user', { id: userId, accountId, ...more })).status).toBe(200);
  };

  it("a standby service shows a moderation's effect at once, without further writes", async () => {
    await identified('referrer', 'referrer', { referralCode: 'REF1' });
    const brought = {
      id: 'brought',
      subscription: { status: 'TRIAL' },
      referral: { code: 'REF1' },
    };
    expect((await other.post('/accountsync', brought)).status).toBe(200);
    expect((await other.post('/user', { id: 'brought', accountId: 'brought' })).status).toBe(200);
    const { body } = await other.get<{ referrals: { id: string }[] }>(
      '/referrals?referredAccountId=brought',
    );
    const referralId = body.referrals[0]?.id ?? '';
    for (const action of ['DENIED', 'APPROVED', 'DENIED', 'APPROVED']) {
      // Both in turn: one of them leads, and its last pages hold nothing that anybody reacts to.
      for (const client of [other, one]) {
        expect(
          (await client.post('/referrals/moderate', { actions: [{ referralId, action }] })).status,
        ).toBe(200);
        expect(await client.get(`/referrals/${referralId}`)).toMatchObject({
          status: 200,
          body: { referrerModerationStatus: action },
        });
      }
    }
  });
});
