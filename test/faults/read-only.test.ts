import pg from 'pg';
import { eventually } from '../support/embedded.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import {
  createStores,
  personal,
  RunningService,
  type TestStores,
  type TestTenant,
} from '../support/running-service.js';

let stores: TestStores;
let service: RunningService;
let tenant: TestTenant;

beforeAll(async () => {
  stores = await createStores();
  service = await RunningService.start(stores);
  tenant = await service.createTenant();
});
afterAll(async () => {
  await service.stop();
  await stores.remove();
});

/** What a standby says to whoever writes. Sessions begin anew, as after a fail-over. */
async function setReadOnly(on: boolean): Promise<void> {
  const client = new pg.Client(stores.databaseUrl);
  await client.connect();
  try {
    await client.query('set default_transaction_read_only = off');
    await client.query(
      `alter database "${client.database ?? ''}" set default_transaction_read_only = ${on ? 'on' : 'off'}`,
    );
    await client.query(END_SESSIONS);
  } finally {
    await client.end();
  }
}

it('on a read-only database writes are refused within 5 s, reads continue, and writes are accepted again afterwards', async () => {
  const client = tenant.live;
  const id = personal('acc');
  const sync = { id, subscription: { status: 'TRIAL' } };
  expect((await client.post('/accountsync', sync)).status).toBe(200);
  await eventually(async () => (await client.get(`/account/${id}`)).status === 200);

  await setReadOnly(true);
  try {
    // Until the sessions have begun anew.
    await eventually(async () => (await client.get(`/account/${id}`)).status === 200);
    const refused = async (key?: string): Promise<void> => {
      const began = performance.now();
      const { status, body } = await client.post(
        '/accountsync',
        { ...sync, subscription: { status: 'FREE' } },
        key === undefined ? {} : { key },
      );
      expect({ status, error: body.apiErrorCode }).toEqual({ status: 503, error: 'UNAVAILABLE' });
      expect(performance.now() - began).toBeLessThan(5_000);
    };
    await Promise.all([refused(), refused(personal('key'))]);
    const read = await client.get<{ subscription: { status: string } }>(`/account/${id}`);
    expect({ status: read.status, subscription: read.body.subscription.status }).toEqual({
      status: 200,
      subscription: 'TRIAL',
    });
  } finally {
    await setReadOnly(false);
  }
  await eventually(async () => (await client.post('/accountsync', sync)).status === 200);
});
