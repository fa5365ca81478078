import type { EventLog, Position } from '../event-log/event-log.js';
import { elapsed } from '../foundation/world.js';

/** Longer than another process needs to take over after a crash. */
const SKIP_AFTER_MS = 30_000;

/** The followers that a starting process waits for. */
export interface FollowerPositions {
  /** Whether all reach the position within the time. */
  reach(position: Position, withinMs: number): Promise<boolean>;
  /** Positions by name; undefined: not started. @throws while nothing is known. */
  at(): Promise<ReadonlyMap<string, Position | undefined>>;
}

/**
 * A starting process waits until read models and reactions include earlier events, as long as they
 * move on. It does not wait for a dead projector or worker, because requests can be served.
 */
export class FollowerWait {
  private behind: string | undefined;
  private movedAt = elapsed();

  constructor(
    private readonly followers: FollowerPositions,
    private readonly compare: EventLog['compare'],
    private readonly skipAfterMs = SKIP_AFTER_MS,
  ) {}

  /** `still`: followers before the head have not moved for too long. */
  async look(head: Position, withinMs: number): Promise<'reached' | 'moving' | 'still'> {
    if (await this.followers.reach(head, withinMs)) return 'reached';
    const behind = await this.laggards(head);
    if (behind === undefined || behind !== this.behind) {
      this.behind = behind;
      this.movedAt = elapsed();
    }
    return elapsed() - this.movedAt >= this.skipAfterMs ? 'still' : 'moving';
  }

  /** Followers before the head with their positions; undefined: unknown. */
  private async laggards(head: Position): Promise<string | undefined> {
    try {
      const behind = [...(await this.followers.at())].filter(
        ([, position]) => this.compare(position, head) < 0,
      );
      return JSON.stringify(behind.map(([name, position]) => [name, position ?? null]));
    } catch {
      return undefined;
    }
  }
}
