import pg from 'pg';
import { startServiceProcess, type ServiceProcess } from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';
import { createTenantDatabase, type TenantDatabase } from '../support/tenant-database.js';

let database: TenantDatabase;
let client: pg.Client;
const services: ServiceProcess[] = [];

const start = async (): Promise<ServiceProcess> => {
  const service = await startServiceProcess({ env: database.env });
  services.push(service);
  await service.ready();
  return service;
};

beforeAll(async () => {
  database = await createTenantDatabase();
  client = new pg.Client(database.env.DATABASE_URL);
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await Promise.all(services.map((service) => service.kill()));
  await database.drop();
});

it('a job in the hands of a process that is killed runs in the next one, within seconds', async () => {
  const first = await start();
  const jobs = async (): Promise<readonly { locked_by: string | null }[]> =>
    (
      await client.query<{ locked_by: string | null }>(
        `select locked_by from graphile_worker.jobs where key = 'purge'`,
      )
    ).rows;

  // Keeps the job from its end for as long as the process lives.
  await client.query('begin');
  await client.query('lock table ledger.idempotency_keys in share mode');
  const other = new pg.Client(database.env.DATABASE_URL);
  await other.connect();
  await other.query(`select graphile_worker.add_job('purge-idempotency-keys', job_key := 'purge')`);
  await other.end();
  await eventually(async () => /^process-\d+$/.test((await jobs())[0]?.locked_by ?? ''));
  await first.kill();
  await client.query('commit');

  await start();
  // The library itself would leave it locked for four hours.
  await eventually(async () => (await jobs()).length === 0);
}, 120_000);
