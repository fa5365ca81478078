import { OperationCalls } from '../../src/http/operations/operation-calls.js';
import { deliveryDetails } from '../../src/operations/webhooks/delivery-request.js';
import { showDeliveries } from '../../src/operations/webhooks/webhook-commands.js';
import { aPerson } from '../support/people.js';
import { useSharedService } from '../support/running-service.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';

/** A delivery as support sees it. */

const running = useSharedService();
let receiver: WebhookReceiver;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
});
afterAll(() => receiver.stop());

test('a delivery shows the body that was sent, its headers without signatures, and the answer', async () => {
  const tenant = await running.service.createTenant();
  const { core } = running.service.service;
  const scope = { tenant: tenant.alias, mode: 'live' } as const;
  await tenant.live.post('/subscription', { endpointUrl: receiver.url('/shown'), name: 'shop' });

  const ann = await aPerson(tenant.live, { firstName: 'Ann' });
  const created = await receiver.requests('/shown', 2);
  const sent = created.find(({ body }) => String(body).includes('"type":"user.created"'));
  const listed = await showDeliveries(core, scope, { type: 'user.created', limit: 5 });
  const [delivery] = listed;
  if (delivery === undefined) throw new Error('no delivery is listed');

  const calls = running.service.service.app.get(OperationCalls);
  const details = () =>
    deliveryDetails(core, scope, { id: delivery.id, publicUrl: calls.payments.publicUrl });
  const { request, attempts } = await details();
  expect(request.body).toBe(String(sent?.body));
  const headers = new Map(request.headers);
  expect(headers.get('webhook-id')).toBe(sent?.headers['webhook-id']);
  expect(headers.get('webhook-signature')).toBe('v1,•••');
  expect([...headers.keys()].map((name) => name.toLowerCase())).toEqual(
    Object.keys(sent?.headers ?? {}).filter((name) => headers.has(name) || /^x-hook/i.test(name)),
  );
  expect(attempts).toMatchObject([{ status: 200 }]);

  await tenant.live.call('DELETE', `/open${ann.at}`);
  expect((await details()).request).toMatchObject({ body: null, missing: 'person forgotten' });
});
