import { Rest } from '../../src/foundation/rest.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

const { signal } = new AbortController();

/** Begins to rest. Returns whether that is over. */
function rested(rest: Rest, page = 1, until = signal): () => Promise<boolean> {
  let isOver = false;
  void rest.take(page, until).then(() => (isOver = true));
  return async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return isOver;
  };
}

test('a follower rests for its time, once a page', async () => {
  const rest = new Rest(() => false, 15);
  for (let page = 0; page < 2; page++) {
    const isOver = rested(rest);
    clock().forward(14);
    expect(await isOver()).toBe(false);
    clock().forward(1);
    expect(await isOver()).toBe(true);
  }
});

test('a caller that waits, and the end of the follower, end the rest immediately', async () => {
  const rest = new Rest();
  const awaited = rested(rest);
  expect(await awaited()).toBe(false);
  rest.end();
  expect(await awaited()).toBe(true);
  const ending = new AbortController();
  const ended = rested(rest, 1, ending.signal);
  expect(await ended()).toBe(false);
  ending.abort();
  expect(await ended()).toBe(true);
  expect(clock().waiting).toBe(0);
});

test('a follower does not rest while a caller waits, after a large page, or at the end', async () => {
  expect(await rested(new Rest(() => true))()).toBe(true);
  expect(await rested(new Rest(), 100)()).toBe(true);
  expect(await rested(new Rest(), 1, AbortSignal.abort())()).toBe(true);
  expect(clock().waiting).toBe(0);
});
