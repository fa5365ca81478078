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
