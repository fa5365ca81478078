import { LaterEntries } from '../../src/operations/ledger/later-entries.js';

const NOW = 1_000;
const later = (end: number, times: readonly number[]): number => {
  const counted = new LaterEntries(end, NOW);
  for (const recordedAt of times) counted.add({ recordedAt }, true);
  return counted.count;
};

it.each([
  ['recorded after the end, in order', 500, [400, 600, 700], 0],
  ['ahead of the clock', NOW, [400, 9_000], 1],
  ['ahead of the clock once, before entries of the figures', 500, [400, 600, 650, 450], 2],
  ['both', 500, [600, 450, 700, 9_000], 2],
])('the count has the entries %s', (_, end, times, expected) => {
  expect(later(end, times)).toBe(expected);
});

it('the count has only the entries of the figures; the others place them in the log', () => {
  const counted = new LaterEntries(500, NOW);
  counted.add({ recordedAt: 600 }, true);
  counted.add({ recordedAt: 700 }, false);
  counted.add({ recordedAt: 450 }, false);
  expect(counted.count).toBe(1);
});
