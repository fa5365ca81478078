import { LedgerClient, positionOf, type Answer } from '../harness/ledger-client.js';
import { startServiceProcess, statusOf, type ServiceProcess } from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';
import { createTenantDatabase, type TenantDatabase } from '../support/tenant-database.js';
import { grant, makeUser } from '../harness/webhook-tenants.js';

interface Readiness {
  readonly checks: Readonly<Record<string, { readonly role?: string }>>;
}

const ASSIGNED = 800;
/** Amounts of 64 calls, about twice of what is there. */
const AMOUNTS = Array.from({ length: 64 }, (_, n) => 1 + ((n * 37) % 50));

/**
 * The calls go to the clients in turn, one in four redeems of the account: their answers must be
 * those of some order of the calls, and each process shows their sum.
 */
async function raceForOneReward(clients: readonly LedgerClient[], id: string): Promise<void> {
  await makeUser(clients[0]!, id);
  const rewardId = await grant(clients[0]!, id, ASSIGNED);
  const calls = await Promise.all(
    AMOUNTS.map(async (amount, n) => {
      const client = clients[n % clients.length]!;
      const [path, body] =
        n % 4 === 3
          ? ['credit/bulkredeem', { accountId: id, amount, unit: 'CENTS' }]
          : [`credit/${rewardId}/redeem`, { amount, unit: 'CENTS' }];
      return { amount, ...(await client.post(path, body)) };
    }),
  );
  const accepted = calls.filter(({ status }) => status === 200);
  const redeemed = accepted.reduce((sum, { amount }) => sum + amount, 0);
  expect(redeemed).toBeLessThanOrEqual(ASSIGNED);
  const left = accepted.map(({ body, amount }) => {
    const { creditRedeemed, creditAvailable } = body as Record<string, number>;
    expect(creditRedeemed).toBe(amount);
    return { amount, creditAvailable: creditAvailable ?? NaN };
  });
  let before = ASSIGNED;
  for (const { amount, creditAvailable } of left.sort(
    (a, b) => b.creditAvailable - a.creditAvailable,
  )) {
    expect(creditAvailable).toBe(before - amount);
    before = creditAvailable;
  }
  for (const { status, body, amount } of calls)
    if (status !== 200) {
      expect(body).toMatchObject({ statusCode: 400, apiErrorCode: 'INVALD_REWARD_REDEMPTION' });
      expect(amount).toBeGreaterThan(ASSIGNED - redeemed);
    }
  expect(accepted.length).toBeLessThan(calls.length);
  const newest = accepted.map(positionOf).sort(byNumber).at(-1) ?? '';
  for (const client of clients) {
    const headers = { 'Ledger-Position-At-Least': newest };
    const balance = await client.get(`reward/balance?accountId=${id}`, headers);
    expect(balance.body).toMatchObject([
      { totalAssignedCredit: ASSIGNED, totalRedeemedCredit: redeemed },
    ]);
    const { redemptions } = (await client.get(`reward/${rewardId}`, headers)).body as {
      redemptions: readonly { readonly quantityRedeemed: number }[];
    };
    expect(redemptions.map(({ quantityRedeemed }) => quantityRedeemed).sort()).toEqual(
      accepted.map(({ amount }) => amount).sort(),
    );
  }
}

/** Positions are opaque to clients; a test may know that the number follows the dash. */
const byNumber = (one = '', other = ''): number =>
  Number(one.split('-').at(-1)) - Number(other.split('-').at(-1));

let database: TenantDatabase;
let services: ServiceProcess[];
let clients: LedgerClient[];

beforeAll(async () => {
  database = await createTenantDatabase();
  services = [];
  for (let n = 0; n < 2; n++) {
    const service = await startServiceProcess({ env: database.env });
    services.push(service);
    // The first one leads.
    await service.ready();
  }
  clients = services.map(({ url }) => new LedgerClient({ url, apiKey: database.apiKey }));
});
afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all(services.map((service) => service.kill()));
  await database.drop();
});

const rolesIn = async (
  service: ServiceProcess | undefined,
): Promise<ReadonlySet<string | undefined>> => {
  const { checks } = (await (
    await fetch(`${service?.url ?? ''}/health/ready`)
  ).json()) as Readiness;
  return new Set(
    Object.entries(checks).flatMap(([name, { role }]) =>
      name.startsWith('projection ') || name === 'policies' ? [role] : [],
    ),
  );
};
const opened = async (client: LedgerClient, id: string): Promise<Answer> => {
  const answer = await client.post('accountsync', { id, subscription: { status: 'TRIAL' } });
  expect(answer.status).toBe(200);
  return answer;
};

it('of two processes on one database one leads all read models and policies, the other is standby', async () => {
  await eventually(async () => (await rolesIn(services[0])).has('leader'));
  expect([...(await rolesIn(services[0]))]).toEqual(['leader']);
  expect([...(await rolesIn(services[1]))]).toEqual(['standby']);
});

it.each([
  ['one of them', 1],
  ['both', 2],
])(
  '64 redemptions of one reward at the same time through %s redeem what is there and never more',
  async (_name, processes) => {
    for (let round = 1; round <= 5; round++)
      await raceForOneReward(clients.slice(0, processes), `race-${processes}-${round}`);
  },
);

it('the standby takes over when the leader is killed', async () => {
  const [leader, standby] = services;
  const position = positionOf(await opened(clients[0]!, 'before-the-kill'));
  await leader?.kill();
  // Reads may have to wait for the new leader, no longer than they wait for anything.
  const read = await clients[1]!.get('account/before-the-kill', {
    'Ledger-Position-At-Least': position ?? '',
  });
  expect(read.status).toBe(200);
  await eventually(async () => [...(await rolesIn(standby))].join() === 'leader');
  await opened(clients[1]!, 'after-the-kill');
  expect((await clients[1]!.get('account/after-the-kill')).status).toBe(200);
  expect(await statusOf(`${standby?.url ?? ''}/health/ready`)).toBe(200);
});
