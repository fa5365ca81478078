import { GivingWay } from '../../src/foundation/giving-way.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

/** Rests after so much work. Returns whether it has ended, at the clock's time. */
function rested(way: GivingWay, workedMs: number): () => Promise<boolean> {
  clock().forward(workedMs);
  let isOver = false;
  void way.rest().then(() => (isOver = true));
  return async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return isOver;
  };
}

const { signal } = new AbortController();

test('background work rests six times as long as it worked while requests are at work', async () => {
  const way = new GivingWay(() => true, signal);
  const isOver = rested(way, 30);
  clock().forward(179);
  expect(await isOver()).toBe(false);
  clock().forward(1);
  expect(await isOver()).toBe(true);
  const next = rested(way, 10);
  clock().forward(60);
  expect(await next()).toBe(true);
});

test('background work rests a second at most, and not once it has ended', async () => {
  const ending = new AbortController();
  const way = new GivingWay(() => true, ending.signal);
  const isOver = rested(way, 60_000);
  clock().forward(1_000);
  expect(await isOver()).toBe(true);
  const next = rested(way, 60_000);
  ending.abort();
  expect(await next()).toBe(true);
});

test('background work without requests continues immediately', async () => {
  expect(await rested(new GivingWay(() => false, signal), 30)()).toBe(true);
  expect(await rested(new GivingWay(undefined, signal), 30)()).toBe(true);
});
