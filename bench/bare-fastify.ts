import { fastify } from 'fastify';
import pg from 'pg';
import { z } from 'zod';

/**
 * The cost of HTTP and of one statement on this machine: a route that reads one row by its key, and
 * one that inserts one row, durably, through a pool of 16 on the Postgres of the service. Their
 * answers have the shape and size of the service's. Takes `DATABASE_URL`, prints its port.
 */
const POOL = 16;

const BALANCE = {
  type: 'CREDIT',
  unit: 'CENTS',
  count: 1,
  totalAssignedCredit: 1000000000,
  totalRedeemedCredit: 1000,
  totalPendingCredit: 0,
  totalExpiredCredit: 0,
  totalCancelledCredit: 0,
};

const READ = { name: 'read', text: 'select available from bench_bare.balances where id = $1' };
const WRITE = {
  name: 'write',
  text: 'insert into bench_bare.redemptions (reward, amount, unit) values ($1, $2, $3)',
};

const balanceQuery = z.object({ accountId: z.string() });
const redeemParams = z.object({ id: z.string() });
const redeemBody = z.object({ amount: z.number(), unit: z.string() });

/** As many rows as accounts are asked for, by their ids. */
async function makeTables(pool: pg.Pool): Promise<void> {
  await pool.query(`create schema bench_bare;
    create table bench_bare.balances (id text primary key, available bigint not null);
    insert into bench_bare.balances select 'bench-' || n, 999999000 from generate_series(0, 9999) n;
    create table bench_bare.redemptions (
      id bigint generated always as identity primary key,
      reward text not null, amount bigint not null, unit text not null,
      at timestamptz not null default now()
    )`);
}

async function main(): Promise<void> {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: POOL });
  await makeTables(pool);
  const app = fastify();
  app.get('/reward/balance', async (request) => {
    const { accountId } = balanceQuery.parse(request.query);
    const { rows } = await pool.query<{ available: string }>({ ...READ, values: [accountId] });
    return [{ ...BALANCE, totalAvailableCredit: Number(rows[0]?.available) }];
  });
  app.post('/credit/:id/redeem', async (request) => {
    const { id } = redeemParams.parse(request.params);
    const { amount, unit } = redeemBody.parse(request.body);
    await pool.query({ ...WRITE, values: [id, amount, unit] });
    return { creditRedeemed: amount, creditAvailable: 999999000, unit };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  console.log(typeof address === 'object' ? address?.port : address);
}

await main();
