import {
  connectPayments,
  disconnectPayments,
} from '../../src/operations/payments/payment-commands.js';
import { shownDifference } from '../../src/operations/projections/shown-difference.js';

/** A ledger after a removal of the test data. */
const scope = { tenant: 'demo', mode: 'test-1' } as const;

test('a payment provider is connected and disconnected in test mode after a removal', async () => {
  const tenant = { alias: 'demo', programType: 'PAYMENT_PROVIDER' };
  const context = {
    core: {
      tenants: { read: () => Promise.resolve(tenant) },
      payments: {
        connect: () => Promise.resolve({ tenant }),
        current: () => Promise.resolve(undefined),
        disconnect: () => Promise.resolve({ tenant }),
      },
    },
    payments: {
      publicUrl: () => 'https://refer.example',
      provider: () =>
        Promise.resolve({
          modeOf: () => 'test',
          isWebhookSecret: () => true,
          calls: () => ({ check: () => Promise.resolve() }),
        }),
    },
    scope,
  } as never;
  const request = { provider: 'stripe', secretKey: 'sk_test_1', webhookSecret: 'whsec_1' };
  expect((await connectPayments(context, request)).result.mode).toBe('test');
  expect((await disconnectPayments(context)).result.mode).toBe('test');
});

test('a differing row names the mode that its ledger belongs to', () => {
  const columns = { tenant: 'text', mode: 'text', day: 'text' };
  const table = { name: 'daily', columns, primaryKey: ['tenant', 'mode', 'day'] };
  const built = { tenant: 'test-1', mode: 'test-1', day: '2026-01-31' };
  const shown = shownDifference({ tables: [table] } as never, { table: 'daily', built } as never);
  expect(shown).toMatchObject({ tenant: 'test-1', mode: 'test', key: { mode: 'test' } });
});
