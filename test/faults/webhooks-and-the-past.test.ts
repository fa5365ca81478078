import type pg from 'pg';
import { runCommandLine } from '../../src/cli/run-command-line.js';
import { eventually } from '../support/embedded.js';
import { personal, useService, useTenant } from '../support/running-service.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { openOnce } from '../support/opened.js';

jest.setTimeout(180_000);

const running = useService(() => ({ WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }));
const receiver = openOnce(startWebhookReceiver, 'stop');
const tenant = useTenant(running, { each: true });
let paths = 0;

const pool = (): pg.Pool => running.service.service.core.pool;

async function subscribed(): Promise<{ readonly path: string; readonly endpoint: string }> {
  const path = `/hook-${(paths += 1)}`;
  const endpointUrl = receiver.url(path);
  expect((await tenant.live.post('/subscription', { endpointUrl })).status).toBe(201);
  return { path, endpoint: endpointUrl };
}

async function aUser(): Promise<string> {
  const id = personal('user');
  const accountId = personal('acc');
  const path = `/open/account/${accountId}/user/${id}`;
  await eventually(async () => (await tenant.live.put(path, { id, accountId })).status === 200);
  return id;
}

const usersTold = (path: string): readonly string[] =>
  receiver
    .receivedAt(path)
    .map(({ body }) => JSON.parse(body.toString()) as { type: string; data: { id: string } })
    .flatMap(({ type, data }) => (type === 'user.created' ? [data.id] : []));

const deliveries = async (): Promise<number | null> =>
  (await pool().query('select from ledger.webhook_deliveries where tenant = $1', [tenant.alias]))
    .rowCount;

test('a rebuild of all read models, and its switch, send nothing', async () => {
  const { path } = await subscribed();
  const first = await aUser();
  await receiver.requests(path, 2);
  Object.assign(process.env, {
    DATABASE_URL: running.stores.databaseUrl,
    MASTER_KEY_FILE: running.stores.masterKeyFile,
  });
  const out = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const err = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    for (const command of ['rebuild', 'swap'])
      expect(await runCommandLine(['projection', command, '--all', '--json'])).toBe(0);
  } finally {
    out.mockRestore();
    err.mockRestore();
  }
  const second = await aUser();
  await receiver.requests(path, 4);
  expect(usersTold(path)).toEqual([first, second]);
  expect([await deliveries(), receiver.receivedAt(path).length]).toEqual([4, 4]);
});
