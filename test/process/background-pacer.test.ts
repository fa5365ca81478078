import { BackgroundPacer } from '../../src/foundation/background-pacer.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

/** Pauses after this much work. Returns whether the pause has ended. */
function paused(pacer: BackgroundPacer, workedMs: number): () => Promise<boolean> {
  clock().forward(workedMs);
  let isOver = false;
  void pacer.pause().then(() => (isOver = true));
  return async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return isOver;
  };
}

const { signal } = new AbortController();

test('background work pauses six times as long as it worked while requests run', async () => {
  const pacer = new BackgroundPacer(() => true, signal);
  const isOver = paused(pacer, 30);
  clock().forward(179);
  expect(await isOver()).toBe(false);
  clock().forward(1);
  expect(await isOver()).toBe(true);
  const next = paused(pacer, 10);
  clock().forward(60);
  expect(await next()).toBe(true);
});

test('background work pauses a second at most, and not after its end', async () => {
  const ending = new AbortController();
  const pacer = new BackgroundPacer(() => true, ending.signal);
  const isOver = paused(pacer, 60_000);
  clock().forward(1_000);
  expect(await isOver()).toBe(true);
  const next = paused(pacer, 60_000);
  ending.abort();
  expect(await next()).toBe(true);
});

test('background work without requests continues immediately', async () => {
  expect(await paused(new BackgroundPacer(() => false, signal), 30)()).toBe(true);
  expect(await paused(new BackgroundPacer(undefined, signal), 30)()).toBe(true);
});
