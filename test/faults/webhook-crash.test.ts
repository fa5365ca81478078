import { LedgerClient } from '../harness/ledger-client.js';
import {
  makeDataDir,
  printedKey,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';
import { makeUser, must } from '../harness/webhook-tenants.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';

/** Over 5 s: a killed service counts as absent only after some seconds. */
test('webhooks of a killed service arrive, each with the id and body of its first request', async () => {
  const dataDir = await makeDataDir();
  const receiver = await startWebhookReceiver();
  receiver.behave('/hook', { kind: 'hang' }, { kind: 'answer' });
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const start = async (port?: number): Promise<ServiceProcess> => {
    const started = await startServiceProcess({ env, ...(port !== undefined && { port }) });
    await started.ready();
    return started;
  };
  let service = await start();
  try {
    const client = new LedgerClient({ url: service.url, apiKey: printedKey(service.output()) });
    await must(client.post('subscription', { endpointUrl: receiver.url('/hook') }));
    await makeUser(client, 'one');
    await receiver.requests('/hook');
    // Its webhooks wait for the answer to the first one.
    await makeUser(client, 'two');
    client.close();
    await service.kill();
    service = await start(service.port);
    const bodies = () => new Set(receiver.received.map(({ body }) => body.toString()));
    await receiver.until((received) => bodies().size === 4 && received.length > 4);
    expect([...bodies()].map((body) => (JSON.parse(body) as { type: string }).type).sort()).toEqual(
      ['coupon.created', 'coupon.created', 'user.created', 'user.created'],
    );
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
  } finally {
    await service.kill();
    await receiver.stop();
    await removeDataDir(dataDir);
  }
}, 180_000);
