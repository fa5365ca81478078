import { retryInMs } from '../../src/webhooks/deliveries/retry-times.js';
import { enterWorldWith } from '../support/clock-of-process.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @param share of the range of a random number: 0 is its beginning. */
function withChance<T>(share: number, work: () => T): T {
  const leave = enterWorldWith({ below: (end) => Math.round((end - 1) * share) });
  try {
    return work();
  } finally {
    leave();
  }
}

/** The delays of a delivery whose attempts all fail immediately, until it is dead. */
function delays(share: number, retryAfterMs: number | null = null): readonly number[] {
  return withChance(share, () => {
    const all: number[] = [];
    for (let forMs = 0, attempts = 1; ; attempts += 1) {
      const next = retryInMs({ attempts, forMs }, retryAfterMs);
      if (next === null) return all;
      all.push(next);
      forMs += next;
    }
  });
}

const FIRST = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR];

test('a delivery is retried with growing delays, then every ten hours until three days are over', () => {
  expect(delays(0.5)).toEqual([...FIRST, ...Array<number>(5).fill(10 * HOUR)]);
});

test.each([
  ['a fifth sooner', 0, 0.8, 7],
  ['a fifth later', 1, 1.2, 4],
] as const)('a retry comes at most %s, by chance', (_, chance, factor, further) => {
  const expected = [...FIRST, ...Array<number>(further).fill(10 * HOUR)];
  expect(delays(chance)).toEqual(expected.map((ms) => ms * factor));
});

test('the receiver’s pause is a minimum, up to a day, and does not extend the retries', () => {
  const first = { attempts: 1, forMs: 0 };
  const after = (retryAfterMs: number): number | null =>
    withChance(0.5, () => retryInMs(first, retryAfterMs));
  expect([0, 4 * SECOND, 6 * SECOND, 2 * HOUR, DAY, 7 * DAY].map(after)).toEqual([
    5 * SECOND,
    5 * SECOND,
    6 * SECOND,
    2 * HOUR,
    DAY,
    DAY,
  ]);
  expect(delays(0.5, 30 * DAY)).toEqual([DAY, DAY, DAY]);
});
