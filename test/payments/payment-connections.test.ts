import { PaymentConnections } from '../../src/payments/payment-connections.js';
import { metaOf } from '../../src/event-log/envelope.js';
import type { OpenTenant } from '../../src/domain/tenant/tenant.decider.js';

type Parts = ConstructorParameters<typeof PaymentConnections>[0];

it('a disconnection destroys the secrets of its mode, and is recorded after that', async () => {
  const steps: unknown[] = [];
  const payments = [
    { connectionId: 'one', mode: 'live' },
    { connectionId: 'other', mode: 'test' },
  ];
  const parts: Partial<Parts> = {
    tenants: { read: () => Promise.resolve({ payments } as unknown as OpenTenant) },
    keys: {
      destroy: (subjects) => {
        steps.push(subjects);
        return Promise.resolve();
      },
    },
    commands: {
      execute: ({ command }: { readonly command: { readonly type: string } }) => {
        steps.push(command.type);
        return Promise.resolve();
      },
    } as unknown as Parts['commands'],
  };
  const meta = metaOf({ tenant: 'demo', mode: 'live' }, { kind: 'system', id: 'test' }, 'test');
  await new PaymentConnections(parts as Parts).disconnect(meta);
  expect(steps).toEqual([['one'], 'DisconnectPaymentProvider']);
});
