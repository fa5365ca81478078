import type { Position } from '../../event-log/event-log.js';

/** Positions of followers by name; undefined: before the first event. */
export type Positions = ReadonlyMap<string, Position | undefined>;

/** Followers that made no progress between two checks, until they move. */
export class StalledFollowers {
  private readonly at = new Map<string, Position | undefined>();

  /** Whether one of these followers is known to be stalled. */
  has(names: readonly string[]): boolean {
    return names.some((name) => this.at.has(name));
  }

  /** Adds the followers whose positions did not change. */
  addUnmoved(before: Positions, now: Positions): void {
    for (const [name, position] of now)
      if (before.has(name) && before.get(name) === position) this.at.set(name, position);
  }

  /** Removes those that have moved. */
  update(now: Positions): void {
    for (const [name, position] of now)
      if (this.at.has(name) && this.at.get(name) !== position) this.at.delete(name);
  }

  /** After a loss of the log's end, positions cannot be compared. */
  clear(): void {
    this.at.clear();
  }
}
