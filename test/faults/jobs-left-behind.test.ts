import pg from 'pg';
import { startServiceProcess, type ServiceProcess } from '../harness/service-process.js';
import { eventually } from '../support/embedded.js';
import { createTenantDatabase, type TenantDatabase } from '../support/tenant-database.js';
import { JOBS } from '../../src/work-queue/jobs.js';
import { wakeWork } from '../../src/work-queue/work-items.js';

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
  const purge = async (): Promise<{ claimed_by: number | null; is_due: boolean } | undefined> =>
    (
      await client.query<{ claimed_by: number | null; is_due: boolean }>(
        `select claimed_by, due_at <= now() as is_due from ledger.work_items
         where id = 'purge-idempotency-keys'`,
      )
    ).rows[0];

  // Keeps the job from its end for as long as the process lives.
  await client.query('begin');
  await client.query('lock table ledger.idempotency_keys in share mode');
  const other = new pg.Client(database.env.DATABASE_URL);
  await other.connect();
  await wakeWork(other, { kind: JOBS, id: 'purge-idempotency-keys' });
  await other.end();
  await eventually(async () => typeof (await purge())?.claimed_by === 'number');
  await first.kill();
  await client.query('commit');

  await start();
  await eventually(async () => (await purge())?.is_due === false);
}, 120_000);
