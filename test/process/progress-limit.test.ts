import { ProgressLimit } from '../../src/exports/jobs/progress-limit.js';
import { clockOfEachTest } from './support/clock.js';

const clock = clockOfEachTest();

test('work that progresses may take any time; without progress it is stalled, once', () => {
  let stalled = 0;
  const limit = new ProgressLimit(100, () => (stalled += 1));
  for (let noted = 0; noted < 10; noted++) {
    clock().forward(99);
    limit.note();
  }
  clock().forward(99);
  expect(stalled).toBe(0);
  clock().forward(1);
  expect(stalled).toBe(1);
  clock().forward(1_000);
  expect(stalled).toBe(1);
});

test('work that is suspended may take any time; what comes after it is limited again', async () => {
  let stalled = 0;
  const limit = new ProgressLimit(100, () => (stalled += 1));
  let end: () => void = () => undefined;
  const suspended = limit.suspend(() => new Promise<void>((resolve) => (end = resolve)));
  clock().forward(1_050);
  end();
  await suspended;
  clock().forward(99);
  expect(stalled).toBe(0);
  clock().forward(1);
  expect(stalled).toBe(1);
});
