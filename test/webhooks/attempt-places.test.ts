import { AttemptPlaces } from '../../src/webhooks/deliveries/attempt-places.js';
import type { ClaimedDelivery } from '../../src/webhooks/deliveries/due-deliveries.js';

/** How the places of a process are shared out, without a database. */

let places: AttemptPlaces;
beforeEach(() => (places = new AttemptPlaces()));

const delivery = (tenant: string): ClaimedDelivery => ({
  tenant,
  mode: 'live',
  endpointId: 'e',
  id: 'd',
  webhookId: 'w',
  type: 'test',
  subject: {},
  event: null,
  created: 0,
  attempts: 0,
  retried: { attempts: 1, forMs: 0 },
  leasedUntil: '',
});

/** As many as it gets. */
function takeAll(tenant: string): number {
  let taken = 0;
  for (; places.room().take(tenant); taken += 1) places.hold(delivery(tenant), 0);
  return taken;
}

const tenants = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `tenant-${n}`);

test('a tenant alone has an eighth of all', () => {
  expect(takeAll('one')).toBe(64);
  expect(takeAll('other')).toBe(64);
});

test('tenants that take all they get leave some for the next one', () => {
  const taken = tenants(12).map((tenant) => takeAll(tenant));
  expect(taken.reduce((sum, some) => sum + some, 0)).toBeLessThan(512);
  expect(Math.min(...taken)).toBeGreaterThan(0);
  expect(places.room().fullTenants).toEqual(tenants(12));
});

test('room that is shared out is taken at once', () => {
  const room = places.room();
  let taken = 0;
  while (room.take('one')) taken += 1;
  expect(taken).toBe(64);
  expect(room.take('other')).toBe(true);
});
