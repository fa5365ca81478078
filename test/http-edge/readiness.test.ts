import { RecentReadiness, type Readiness } from '../../src/http/health/readiness.js';
import { elapsed } from '../../src/foundation/world.js';
import { clockOfEachTest } from '../process/support/clock.js';

const clock = clockOfEachTest();

/** Answers when the test says so. */
class Stores {
  isBusy = () => true;
  failedAtMs = () => -Infinity;
  readonly asked: { answer: (readiness: Readiness) => void; fail: (error: Error) => void }[] = [];

  check(): Promise<Readiness> {
    return new Promise((answer, fail) => this.asked.push({ answer, fail }));
  }
}

const ready = (lagEvents: number): Readiness => ({
  ready: true,
  checks: { policies: { ok: true, lagEvents } },
});
const notReady: Readiness = { ready: false, checks: { postgres: { ok: false } } };

/** What was answered so far; undefined: nothing. */
function answerOf(asked: Promise<Readiness>): () => Promise<Readiness | undefined> {
  let known: Readiness | undefined;
  void asked.then((readiness) => (known = readiness));
  return async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    return known;
  };
}

let stores: Stores;
let readiness: RecentReadiness;
/** Asks, has the stores answer, and checks that this is what is told. */
async function checked(found: Readiness): Promise<void> {
  const asked = readiness.check();
  stores.asked.at(-1)?.answer(found);
  expect(await asked).toEqual(found);
}
beforeEach(() => {
  stores = new Stores();
  readiness = new RecentReadiness(stores);
});

test('questions at the same time share one check', async () => {
  const asked = [readiness.check(), readiness.check()];
  expect(stores.asked).toHaveLength(1);
  stores.asked[0]?.answer(ready(1));
  expect(await Promise.all(asked)).toEqual([ready(1), ready(1)]);
});

test('a service that was ready is not checked again for a tenth of a second', async () => {
  await checked(ready(1));
  clock().forward(100);
  expect(await readiness.check()).toEqual(ready(1));
  expect(stores.asked).toHaveLength(1);
  clock().forward(1);
  await checked(notReady);
  expect(stores.asked).toHaveLength(2);
});

test('a service that was not ready is checked each time, and the check is waited for', async () => {
  await checked(notReady);
  const answer = answerOf(readiness.check());
  clock().forward(1_999);
  expect(await answer()).toBeUndefined();
  expect(stores.asked).toHaveLength(2);
  stores.asked[1]?.answer(ready(2));
  expect(await answer()).toEqual(ready(2));
});

test('a check that takes long in a busy service is answered with the one before, for two seconds', async () => {
  await checked(ready(1));
  clock().forward(1_000);
  const first = answerOf(readiness.check());
  clock().forward(49);
  expect(await first()).toBeUndefined();
  clock().forward(1);
  expect(await first()).toEqual(ready(1));
  clock().forward(950);
  const second = answerOf(readiness.check());
  clock().forward(50);
  expect(await second()).toEqual(ready(1));
  // The same check is still under way, and the one before too old.
  const third = answerOf(readiness.check());
  clock().forward(1_000);
  expect(await third()).toBeUndefined();
  expect(stores.asked).toHaveLength(2);
  stores.asked[1]?.answer(notReady);
  expect(await third()).toEqual(notReady);
});

test('a check that takes long while nothing else is at work is waited for', async () => {
  stores.isBusy = () => false;
  await checked(ready(1));
  clock().forward(101);
  const answer = answerOf(readiness.check());
  clock().forward(1_800);
  expect(await answer()).toBeUndefined();
  stores.asked[1]?.answer(ready(2));
  expect(await answer()).toEqual(ready(2));
});

test('what was ready before a request failed is not told again, busy or not', async () => {
  await checked(ready(1));
  const failedAtMs = elapsed();
  stores.failedAtMs = () => failedAtMs;
  const answer = answerOf(readiness.check());
  clock().forward(60);
  expect(await answer()).toBeUndefined();
  stores.asked[1]?.answer(notReady);
  expect(await answer()).toEqual(notReady);
  await checked(ready(3));
  expect(await readiness.check()).toEqual(ready(3));
});

test('an answer in time is the new one, and an error is told', async () => {
  await checked(ready(1));
  clock().forward(300);
  await checked(ready(2));
  clock().forward(300);
  const asked = readiness.check();
  stores.asked.at(-1)?.fail(new Error('away'));
  await expect(asked).rejects.toThrow('away');
  clock().forward(10_000);
  await checked(ready(3));
});
