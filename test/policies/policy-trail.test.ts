import { Trail } from '../../src/following/trail.js';

const trailOf = (seconds: number): readonly number[] => {
  const trail = new Trail([], (position) => BigInt(position));
  let points: readonly { readonly reached: string }[] = [];
  for (let second = 1; second <= seconds; second++) {
    const at = { position: String(second), eventId: 'e' };
    points = trail.pass(String(second), at, second * 1_000) ?? points;
  }
  return points.map(({ reached }) => seconds - Number(reached));
};

it.each([100, 10_000, 100_000])(
  'after %d seconds a loss of any length finds a point near it',
  (seconds) => {
    const ages = trailOf(seconds);
    expect(ages.length).toBeLessThanOrEqual(24);
    expect(ages.slice(-8)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    for (let loss = 10; loss < seconds / 4; loss *= 2) {
      const behind = ages.filter((age) => age >= loss);
      expect(Math.min(...behind)).toBeLessThanOrEqual(loss * 4);
    }
  },
);

it('a point is added once a second', () => {
  const trail = new Trail([], (position) => BigInt(position));
  expect(trail.pass('1', { position: '1', eventId: 'e' }, 0)).toHaveLength(1);
  expect(trail.pass('2', { position: '2', eventId: 'e' }, 999)).toBeUndefined();
  expect(trail.pass('3', { position: '3', eventId: 'e' }, 1_000)).toHaveLength(2);
});
