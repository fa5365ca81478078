import { PagePause } from '../../src/following/page-pause.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

const { signal } = new AbortController();

/** Begins to pause. Returns whether that is over. */
function paused(pause: PagePause, page = 1, until = signal): () => Promise<boolean> {
  let isOver = false;
  void pause.take(page, until).then(() => (isOver = true));
  return async () => {
    for (let n = 0; n < 5; n++) await Promise.resolve();
    return isOver;
  };
}

test('a follower pauses once a page', async () => {
  const pause = new PagePause(() => false, 15);
  for (let page = 0; page < 2; page++) {
    const isOver = paused(pause);
    clock().forward(14);
    expect(await isOver()).toBe(false);
    clock().forward(1);
    expect(await isOver()).toBe(true);
  }
});

test('a caller that waits, and the end of the follower, end the pause immediately', async () => {
  const pause = new PagePause();
  const awaited = paused(pause);
  expect(await awaited()).toBe(false);
  pause.end();
  expect(await awaited()).toBe(true);
  const ending = new AbortController();
  const ended = paused(pause, 1, ending.signal);
  expect(await ended()).toBe(false);
  ending.abort();
  expect(await ended()).toBe(true);
  expect(clock().waiting).toBe(0);
});

test('a follower does not pause while a caller waits, after a large page, or at the end', async () => {
  expect(await paused(new PagePause(() => true))()).toBe(true);
  expect(await paused(new PagePause(), 100)()).toBe(true);
  expect(await paused(new PagePause(), 1, AbortSignal.abort())()).toBe(true);
  expect(clock().waiting).toBe(0);
});
