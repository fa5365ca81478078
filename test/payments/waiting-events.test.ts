import {
  recorderOf,
  type RecordProviderEvent,
} from '../../src/payments/incoming/payment-events.js';
import { countWaiting } from '../../src/payments/incoming/payment-rows.js';
import { waitingEventsOf, WaitingEvents } from '../../src/payments/incoming/waiting-events.js';
import type { ProviderEvent } from '../../src/payments/payment-provider.js';
import { eventually } from '../support/embedded.js';
import { personal as personalOf, useService, type TestTenant } from '../support/running-service.js';

/** How many events of customers that no account has are kept. */

const running = useService();
let tenant: TestTenant;

beforeEach(async () => {
  tenant = await running.service.createTenant({ programType: 'PAYMENT_PROVIDER' });
});

const scope = () => ({ tenant: tenant.alias, mode: 'live' }) as const;
const paid = (id: string, customer: string | null): ProviderEvent => ({
  id,
  type: 'invoice.paid',
  created: Date.now(),
  customer,
  invoice: `in_${id}`,
  payments: [],
  subscription: null,
  left: null,
  fact: { kind: 'INVOICE_PAID', amountPaid: 1, currency: 'USD', interval: null },
});

/** With room for so many, counted in the database. */
function recorder(waitingMax: number): RecordProviderEvent {
  const { core } = running.service.service;
  const { streams, names } = core;
  const count = async (): Promise<number> => {
    const found = await core.pool.query(
      'select from ledger.payment_waiting_events where tenant = $1 and not is_linked',
      [tenant.alias],
    );
    return found.rowCount ?? 0;
  };
  return recorderOf(core.commands, new WaitingEvents({ count, streams, names }, waitingMax));
}

async function linked(customer: string): Promise<void> {
  const id = personalOf('ann');
  const path = `/open/account/${id}/user/${id}`;
  const body = { id, accountId: id, paymentProviderId: customer };
  expect((await tenant.live.put(path, body)).status).toBe(200);
}

const waiting = async (): Promise<number> => {
  const { rowCount } = await running.service.service.core.pool.query(
    'select from ledger.payment_waiting_events where tenant = $1',
    [tenant.alias],
  );
  return rowCount ?? 0;
};

it('beyond the bound those of customers that an account has are recorded alone', async () => {
  await linked('cus_linked');
  for (const id of ['a', 'b'])
    expect(await recorder(2)(scope(), paid(id, `cus_${id}`))).toBe('recorded');
  await eventually(async () => (await waiting()) === 2);
  const full = recorder(2);
  expect(await full(scope(), paid('c', 'cus_c'))).toBe('full');
  expect(await full(scope(), paid('d', 'cus_linked'))).toBe('recorded');
  expect(await full(scope(), paid('a', 'cus_a'))).toBe('repeated');
  expect(await full(scope(), paid('e', null))).toBe('recorded');
  await linked('cus_c');
  expect(await full(scope(), paid('c', 'cus_c'))).toBe('recorded');
});

it('what waits is counted in the database, in each mode', async () => {
  const { core } = running.service.service;
  const room = waitingEventsOf(core);
  const record = recorderOf(core.commands, room);
  expect(await record(scope(), paid('f', 'cus_f'))).toBe('recorded');
  await eventually(async () => (await waiting()) === 1);
  expect(await countWaiting(core.pool, scope(), { since: 0, bound: 10 })).toBe(1);
  const test = { ...scope(), mode: 'test' } as const;
  expect(await countWaiting(core.pool, test, { since: 0, bound: 10 })).toBe(0);
});
