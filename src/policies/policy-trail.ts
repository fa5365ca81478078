import type { Position, SeenEvent } from '../event-log/event-log.js';
import type { TrailPoint } from './policy-checkpoint.js';

const NEAR = 8;
const POINTS_MAX = 2 * NEAR;
const EVERY_MS = 1_000;

/** Earlier checkpoints of the policies: one per second for the last seconds, then ever sparser. */
export class PolicyTrail {
  private added = -Infinity;

  constructor(private kept: readonly TrailPoint[]) {}

  /**
   * All points with this one; undefined: too soon after the previous one. @param now by a monotonic
   * clock, in milliseconds.
   */
  pass(reached: Position, witness: SeenEvent, now: number): readonly TrailPoint[] | undefined {
    if (now - this.added < EVERY_MS) return undefined;
    this.added = now;
    const all = [...this.kept, { reached, witness }];
    this.kept =
      all.length <= POINTS_MAX
        ? all
        : all.filter((_, index) => index % 2 === 0 || index >= all.length - NEAR);
    return this.kept;
  }
}
