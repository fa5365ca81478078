import { ProgressLimit } from '../../src/exports/jobs/progress-limit.js';
import { enterWorld } from '../../src/foundation/world.js';

/** A clock that the test sets forward. */
class Clock {
  private ms = 0;
  private readonly timers = new Set<{ readonly at: number; readonly call: () => void }>();

  readonly world = {
    now: () => this.ms,
    elapsed: () => this.ms,
    after: (ms: number, call: () => void) => {
      const timer = { at: this.ms + ms, call };
      this.timers.add(timer);
      return () => void this.timers.delete(timer);
    },
    uuid: () => '',
    bytes: () => Buffer.alloc(0),
    below: () => 0,
  };

  get waiting(): number {
    return this.timers.size;
  }

  forward(ms: number): void {
    const end = this.ms + ms;
    for (;;) {
      const [next] = [...this.timers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.timers.delete(next);
      this.ms = next.at;
      next.call();
    }
    this.ms = end;
  }
}

let clock: Clock;
let leave: () => void;
beforeEach(() => {
  clock = new Clock();
  leave = enterWorld(clock.world);
});
afterEach(() => leave());

test('work that progresses may take any time; without progress it is stalled, once', () => {
  let stalled = 0;
  const limit = new ProgressLimit(100, () => (stalled += 1));
  for (let noted = 0; noted < 10; noted++) {
    clock.forward(99);
    limit.note();
  }
  clock.forward(99);
  expect(stalled).toBe(0);
  clock.forward(1);
  expect(stalled).toBe(1);
  clock.forward(1_000);
  expect(stalled).toBe(1);
});

test('work that ended is not stalled', () => {
  let stalled = 0;
  const limit = new ProgressLimit(100, () => (stalled += 1));
  clock.forward(99);
  limit.end();
  clock.forward(1_000);
  expect([stalled, clock.waiting]).toEqual([0, 0]);
});

test('work that is suspended may take any time; what comes after it is limited again', async () => {
  let stalled = 0;
  const limit = new ProgressLimit(100, () => (stalled += 1));
  let end: () => void = () => undefined;
  const suspended = limit.suspend(() => new Promise<void>((resolve) => (end = resolve)));
  clock.forward(1_050);
  end();
  await suspended;
  clock.forward(99);
  expect(stalled).toBe(0);
  clock.forward(1);
  expect(stalled).toBe(1);
});
