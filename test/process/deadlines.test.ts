import { Deadlines } from '../../src/http/edge/deadlines.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

test('each call is made once at its own time, whatever became of those before it', () => {
  const made: string[] = [];
  const deadlines = new Deadlines(100);
  const cancelFirst = deadlines.add(() => made.push('first'));
  clock().forward(30);
  deadlines.add(() => made.push('second'));
  clock().forward(30);
  deadlines.add(() => made.push('third'));
  cancelFirst();
  clock().forward(69);
  expect(made).toEqual([]);
  clock().forward(1);
  expect(made).toEqual(['second']);
  clock().forward(30);
  expect(made).toEqual(['second', 'third']);
  clock().forward(1_000);
  expect(made).toEqual(['second', 'third']);
});

test('any number of them has one timer, and none when all have ended', () => {
  const deadlines = new Deadlines(100);
  const cancels = Array.from({ length: 50 }, () => deadlines.add(() => undefined));
  expect(clock().waiting).toBe(1);
  for (const cancel of cancels) cancel();
  clock().forward(100);
  expect(clock().waiting).toBe(0);
});

test('a call that is due may add another one', () => {
  const made: number[] = [];
  const deadlines = new Deadlines(100);
  const again = (): void => {
    made.push(clock().world.elapsed());
    if (made.length < 3) deadlines.add(again);
  };
  deadlines.add(again);
  clock().forward(1_000);
  expect(made).toEqual([100, 200, 300]);
});
