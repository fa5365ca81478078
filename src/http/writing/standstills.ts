import type { Position } from '../../event-log/event-log.js';

/** How far followers of the log are, by name; undefined: before the first event. */
export type Reached = ReadonlyMap<string, Position | undefined>;

/** The followers that were seen to stand still, until they are seen to have moved. */
export class Standstills {
  private readonly at = new Map<string, Position | undefined>();

  /** Whether one of these followers stands still, as far as is known. */
  has(names: readonly string[]): boolean {
    return names.some((name) => this.at.has(name));
  }

  /** The followers that are where they were before stand still. */
  compare(before: Reached, now: Reached): void {
    for (const [name, position] of now)
      if (before.has(name) && before.get(name) === position) this.at.set(name, position);
  }

  /** Forgets those that have moved. */
  see(now: Reached): void {
    for (const [name, position] of now)
      if (this.at.has(name) && this.at.get(name) !== position) this.at.delete(name);
  }

  /** Positions of a log that lost its end say nothing. */
  clear(): void {
    this.at.clear();
  }
}
