import { fastify } from 'fastify';

/**
 * The cost of HTTP alone on this machine: two routes with the shape and size of the service's,
 * without any work behind them. Prints its port.
 */
const BALANCE = [
  {
    type: 'CREDIT',
    unit: 'CENTS',
    count: 1,
    totalAssignedCredit: 1000000000,
    totalRedeemedCredit: 1000,
    totalAvailableCredit: 999999000,
    totalPendingCredit: 0,
    totalExpiredCredit: 0,
    totalCancelledCredit: 0,
  },
];

async function main(): Promise<void> {
  const app = fastify();
  app.get('/reward/balance', async () => BALANCE);
  app.post('/credit/:id/redeem', async () => ({
    creditRedeemed: 1,
    creditAvailable: 999999000,
    unit: 'CENTS',
  }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  console.log(typeof address === 'object' ? address?.port : address);
}

await main();
