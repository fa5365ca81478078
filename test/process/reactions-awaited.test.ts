import { ReactionsAwaited } from '../../src/process/reactions-awaited.js';

let now = 0;
beforeEach(() => {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

const awaited = (checkpoint: () => Promise<string | null>, isReached = false) =>
  new ReactionsAwaited({ waitFor: () => Promise.resolve(isReached), checkpoint }, 30_000);
const looked = async (reactions: ReactionsAwaited, at: number): Promise<boolean> => {
  now = at;
  return reactions.areOver('9', 0);
};

it('a start waits for no reactions that are done', async () => {
  expect(
    await looked(
      awaited(() => Promise.resolve('9'), true),
      0,
    ),
  ).toBe(true);
});

it.each(['1', null])('a start gives up reactions that stand still at %s', async (position) => {
  const reactions = awaited(() => Promise.resolve(position));
  expect(await looked(reactions, 10)).toBe(false);
  expect(await looked(reactions, 30_009)).toBe(false);
  expect(await looked(reactions, 30_010)).toBe(true);
});

it('a start waits on for reactions that move, or of which nothing is known', async () => {
  let position: string | undefined = '1';
  const reactions = awaited(() =>
    position === undefined ? Promise.reject(new Error('away')) : Promise.resolve(position),
  );
  expect(await looked(reactions, 0)).toBe(false);
  position = '2';
  expect(await looked(reactions, 40_000)).toBe(false);
  position = undefined;
  expect(await looked(reactions, 80_000)).toBe(false);
  position = '2';
  expect(await looked(reactions, 120_000)).toBe(false);
  expect(await looked(reactions, 150_000)).toBe(true);
});
