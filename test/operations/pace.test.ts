import { enterWorld, type World } from '../../src/foundation/world.js';
import { Pace } from '../../src/http/operations/pace.js';

/** Work that takes this long, and how it rests before its next piece. */
async function restsAfter(workedMs: number, isBusy: boolean): Promise<readonly number[]> {
  const rests: number[] = [];
  let clock = 0;
  const unused = (): never => {
    throw new Error('not of this world');
  };
  const world: World = {
    now: unused,
    elapsed: () => clock,
    after: (ms, call) => {
      rests.push(ms);
      queueMicrotask(call);
      return () => undefined;
    },
    uuid: unused,
    bytes: unused,
    below: unused,
  };
  const leave = enterWorld(world);
  try {
    const pace = new Pace(() => isBusy);
    clock += workedMs;
    await pace.giveWay(new AbortController().signal);
    return rests;
  } finally {
    leave();
  }
}

test('while requests are there, a piece of work is followed by a rest of its length', async () => {
  expect(await restsAfter(120, true)).toEqual([0, 120]);
  expect(await restsAfter(9_000, true)).toEqual([0, 500]);
});

test('otherwise it goes on after a look, and short pieces need none', async () => {
  expect(await restsAfter(120, false)).toEqual([0]);
  expect(await restsAfter(3, true)).toEqual([]);
});
