import { AttemptPlaces } from '../../src/webhooks/deliveries/attempt-places.js';
import type { ClaimedDelivery } from '../../src/webhooks/deliveries/due-deliveries.js';

/** How the places of a process are shared out, without a database. */

let places: AttemptPlaces;
beforeEach(() => (places = new AttemptPlaces()));

const delivery = (tenant: string, isSlow: boolean): ClaimedDelivery => ({
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
  isSlow,
  leasedUntil: '',
});

/** As many as it gets. */
function takeAll(tenant: string, isSlow: boolean): number {
  let taken = 0;
  for (; places.room(isSlow, 0).take(tenant); taken += 1) places.hold(delivery(tenant, isSlow), 0);
  return taken;
}

const tenants = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `tenant-${n}`);

test('a tenant alone has an eighth of all, and a sixteenth of slow ones', () => {
  expect(takeAll('one', true)).toBe(32);
  expect(takeAll('one', false)).toBe(32);
  expect(takeAll('other', false)).toBe(64);
});

test.each([
  [true, 256],
  [false, 512],
])('tenants that take all they get leave some for the next one (slow: %s)', (isSlow, all) => {
  const taken = tenants(12).map((tenant) => takeAll(tenant, isSlow));
  expect(taken.reduce((sum, some) => sum + some, 0)).toBeLessThan(all);
  expect(Math.min(...taken)).toBeGreaterThan(0);
  expect(places.room(isSlow, 0).fullTenants).toEqual(tenants(12));
});

test('slow ones leave half of all to the others', () => {
  for (const tenant of tenants(100)) takeAll(tenant, true);
  expect(places.room(true, 0).deliveries).toBe(0);
  expect(places.room(false, 0).deliveries).toBe(256);
  expect(takeAll('fine', false)).toBe(64);
});

test('room that is shared out is taken at once', () => {
  const room = places.room(true, 0);
  let taken = 0;
  while (room.take('one')) taken += 1;
  expect(taken).toBe(32);
  expect(room.take('other')).toBe(true);
});
