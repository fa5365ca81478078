import { Bulkhead, type Place } from '../../src/foundation/bulkhead.js';

/** What of these has begun, in the order in which it was asked for. */
async function begun(asked: readonly Promise<Place | undefined>[]): Promise<readonly boolean[]> {
  const pending: Promise<object> = Promise.resolve({});
  await new Promise((resolve) => setImmediate(resolve));
  const now = await Promise.all(asked.map((one) => Promise.race([one, pending])));
  return now.map((one) => one !== undefined && 'leave' in one);
}

test('a bounded amount of work begins in the order of arrival', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 2, waitingMax: 10 });
  expect(bulkhead.isBusy).toBe(false);
  const asked = [1, 2, 3, 4].map(() => bulkhead.enter('acme'));
  expect(await begun(asked)).toEqual([true, true, false, false]);
  expect(bulkhead.isBusy).toBe(true);
  const first = await asked[0];
  first?.leave();
  first?.leave();
  expect(await begun(asked)).toEqual([true, true, true, false]);
});

test('a tenant has a third of the places while others wait, and all of them when it is alone', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 3, waitingMax: 20 });
  const loud = [1, 2, 3, 4, 5].map(() => bulkhead.enter('loud'));
  const quiet = bulkhead.enter('quiet');
  expect(await begun([...loud, quiet])).toEqual([true, true, true, false, false, false]);
  (await loud[0])?.leave();
  // The loud tenant came first, but has more than its third.
  expect(await begun([...loud, quiet])).toEqual([true, true, true, false, false, true]);
  (await loud[1])?.leave();
  expect(await begun(loud)).toEqual([true, true, true, true, false]);
});

test('tenants that wait take turns', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 1, waitingMax: 20 });
  const held = await bulkhead.enter('first');
  const asked = ['loud', 'loud', 'quiet'].map((tenant) => bulkhead.enter(tenant));
  held?.leave();
  expect(await begun(asked)).toEqual([true, false, false]);
  (await asked[0])?.leave();
  expect(await begun(asked)).toEqual([true, false, true]);
});

test('work that finds the queue full is refused; a tenant has half of the queue', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 1, waitingMax: 4 });
  const held = await bulkhead.enter('loud');
  void bulkhead.enter('loud');
  void bulkhead.enter('loud');
  expect([bulkhead.isFullFor('loud'), bulkhead.isFullFor('quiet')]).toEqual([true, false]);
  expect(await bulkhead.enter('loud')).toBeUndefined();
  void bulkhead.enter('quiet');
  void bulkhead.enter('quiet');
  expect(bulkhead.isFullFor('third')).toBe(true);
  held?.leave();
  expect(bulkhead.isFullFor('third')).toBe(false);
});

test('a queue of length zero refuses what finds no place', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 1, waitingMax: 0 });
  const held = await bulkhead.enter('acme');
  expect(await bulkhead.enter('acme')).toBeUndefined();
  held?.leave();
  expect(await bulkhead.enter('acme')).toBeDefined();
});

test('an aborted wait leaves the queue', async () => {
  const bulkhead = new Bulkhead({ atWorkMax: 1, waitingMax: 1 });
  const held = await bulkhead.enter('acme');
  const leaving = new AbortController();
  const left = bulkhead.enter('other', leaving.signal);
  leaving.abort();
  expect(await left).toBeUndefined();
  const next = bulkhead.enter('acme');
  held?.leave();
  expect(await next).toBeDefined();
  expect(await bulkhead.enter('acme', leaving.signal)).toBeUndefined();
});
