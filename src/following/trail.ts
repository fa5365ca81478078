import type { Position, SeenEvent } from '../event-log/event-log.js';

/**
 * `witness` is an event at or after all effects of the events up to `reached`: while the log has
 * it, the log has lost none of them.
 */
export interface TrailPoint {
  readonly reached: Position;
  readonly witness: SeenEvent;
}

const NEWEST_KEPT = 8;
const POINTS_MAX = 3 * NEWEST_KEPT;
const EVERY_MS = 1_000;

/** Earlier checkpoints: one per second at first, then ever sparser. */
export class Trail {
  private added = -Infinity;

  /** @param order of a position, as a number (`EventLog.order`). */
  constructor(
    private kept: readonly TrailPoint[],
    private readonly order: (position: Position) => bigint,
  ) {}

  /** All points; undefined: too soon after the last. @param now monotonic milliseconds. */
  pass(reached: Position, witness: SeenEvent, now: number): readonly TrailPoint[] | undefined {
    if (now - this.added < EVERY_MS) return undefined;
    this.added = now;
    const all = [...this.kept, { reached, witness }];
    while (all.length > POINTS_MAX) all.splice(this.leastUseful(all), 1);
    this.kept = all;
    return this.kept;
  }

  /**
   * The point whose removal leaves the smallest gap relative to its age. The oldest point and the
   * `NEWEST_KEPT` newest ones stay.
   */
  private leastUseful(points: readonly TrailPoint[]): number {
    const places = points.map(({ reached }) => Number(this.order(reached)));
    const head = places.at(-1) ?? 0;
    let found = 1;
    let smallest = Infinity;
    for (let index = 1; index < places.length - NEWEST_KEPT; index++) {
      const [before = 0, at = 0, behind = 0] = places.slice(index - 1, index + 2);
      const gap = (behind - before) / Math.max(1, head - at);
      if (gap < smallest) [found, smallest] = [index, gap];
    }
    return found;
  }
}
