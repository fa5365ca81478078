import { whenBroken } from '../../simulator/broken-connections.js';
import { SeededRandom } from '../../simulator/seeded-random.js';
import { Owner, VirtualWorld } from '../../simulator/virtual-world.js';

it('a timer that a thawed process cancels does not fire', async () => {
  const world = new VirtualWorld(new SeededRandom(1));
  const [process, observer] = [new Owner('process'), new Owner('observer')];
  const done: string[] = [];
  let cancel: () => void = () => undefined;
  world.hand(process, () => {
    cancel = world.after(20, () => done.push('timer'));
    world.after(10, () => {
      done.push('answer');
      cancel();
    });
  });
  world.hand(observer, () => process.freeze(), 5);
  world.hand(observer, () => process.thaw(world), 30);
  world.hand(observer, () => done.push('end'), 40);
  await world.runUntil(() => done.includes('end'));
  expect(done).toEqual(['answer', 'end']);
});

it('who waits for a process that is killed mostly knows at once', async () => {
  const random = new SeededRandom(1);
  const world = new VirtualWorld(random, true);
  const client = new Owner('client');
  const known: number[] = [];
  let dead = 0;
  for (let n = 0; n < 200; n++) {
    const process = new Owner(`process-${n}`);
    whenBroken({ world, random }, { of: process, to: client }, () => known.push(world.elapsed()));
    const stop = whenBroken({ world, random }, { of: process, to: client }, () => known.push(-1));
    stop();
    world.hand(client, () => {
      process.kill();
      dead += 1;
    });
  }
  world.hand(client, () => known.push(1_000), 1_000);
  await world.runUntil(() => known.includes(1_000));
  expect(dead).toBe(200);
  expect(known.length).toBeGreaterThan(170);
  expect(known.length).toBeLessThan(200);
  expect(known.slice(0, -1).every((at) => at >= 0 && at < 100)).toBe(true);
});
