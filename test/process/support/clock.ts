import { enterWorld } from '../../../src/foundation/world.js';

/** Each test of the file has a world with a new clock. @returns the clock of the test that runs. */
export function clockOfEachTest(): () => Clock {
  let clock = new Clock();
  let leave: () => void;
  beforeEach(() => {
    clock = new Clock();
    leave = enterWorld(clock.world);
  });
  afterEach(() => leave());
  return () => clock;
}

export class Clock {
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
