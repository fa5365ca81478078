import type { Position, SeenEvent } from '../event-log/event-log.js';

/**
 * An earlier checkpoint of a handler, and the newest event that its process had seen then: its
 * effects up to the checkpoint are all at or before that event.
 */
export interface TrailPoint {
  readonly reached: Position;
  readonly witness: SeenEvent;
}

const NEAR = 8;
const POINTS_MAX = 3 * NEAR;
const EVERY_MS = 1_000;

/**
 * Earlier checkpoints of a handler: one per second for the last seconds, then ever sparser. From
 * any place of the log the next older point is about as far away as the place is from the head.
 */
export class Trail {
  private added = -Infinity;

  /** @param order of a position, as a number (`EventLog.order`). */
  constructor(
    private kept: readonly TrailPoint[],
    private readonly order: (position: Position) => bigint,
  ) {}

  /**
   * All points with this one; undefined: too soon after the previous one. @param now by a monotonic
   * clock, in milliseconds.
   */
  pass(reached: Position, witness: SeenEvent, now: number): readonly TrailPoint[] | undefined {
    if (now - this.added < EVERY_MS) return undefined;
    this.added = now;
    const all = [...this.kept, { reached, witness }];
    while (all.length > POINTS_MAX) all.splice(this.leastMissed(all), 1);
    this.kept = all;
    return this.kept;
  }

  /** The point whose neighbours are nearest to each other, for their age; never a near one. */
  private leastMissed(points: readonly TrailPoint[]): number {
    const places = points.map(({ reached }) => Number(this.order(reached)));
    const head = places.at(-1) ?? 0;
    let found = 1;
    let smallest = Infinity;
    for (let index = 1; index < places.length - NEAR; index++) {
      const [before = 0, at = 0, behind = 0] = places.slice(index - 1, index + 2);
      const gap = (behind - before) / Math.max(1, head - at);
      if (gap < smallest) [found, smallest] = [index, gap];
    }
    return found;
  }
}
