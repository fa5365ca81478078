import type { Position } from '../../src/event-log/event-log.js';
import { FollowerWait } from '../../src/observability/follower-wait.js';

let now = 0;
beforeEach(() => {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

const compare = (a?: Position, b?: Position): number => Number(a ?? 0) - Number(b ?? 0);

/** Looks at times, in milliseconds, for the head 9. `at`: where followers are; none: unknown. */
function awaited(at: () => Readonly<Record<string, Position | undefined>> | undefined) {
  const followers = new FollowerWait(
    {
      reach: (head) =>
        Promise.resolve(
          Object.values(at() ?? { one: '0' }).every((one) => compare(one, head) >= 0),
        ),
      at: async () => {
        const known = at();
        if (known === undefined) throw new Error('away');
        return new Map(Object.entries(known));
      },
    },
    compare,
    30_000,
  );
  return (time: number) => {
    now = time;
    return followers.look('9', 0);
  };
}

it('a start does not wait for followers that are there', async () => {
  expect(await awaited(() => ({ users: '9', policies: '12' }))(0)).toBe('reached');
});

it.each(['1', undefined])(
  'a start stops waiting for a follower that stays at %s',
  async (position) => {
    const look = awaited(() => ({ users: position, policies: '9' }));
    expect(await look(10)).toBe('moving');
    expect(await look(30_009)).toBe('moving');
    expect(await look(30_010)).toBe('still');
  },
);

it('a follower beyond the head may move: the one behind it is stalled', async () => {
  let policies = 10;
  const look = awaited(() => ({ users: '1', policies: String(policies++) }));
  expect(await look(0)).toBe('moving');
  expect(await look(30_000)).toBe('still');
});

it('a start keeps waiting for a follower that moves, or whose position is unknown', async () => {
  let position: string | undefined = '1';
  const look = awaited(() => (position === undefined ? undefined : { users: position }));
  expect(await look(0)).toBe('moving');
  position = '2';
  expect(await look(40_000)).toBe('moving');
  position = undefined;
  expect(await look(80_000)).toBe('moving');
  position = '2';
  expect(await look(120_000)).toBe('moving');
  expect(await look(150_000)).toBe('still');
});
