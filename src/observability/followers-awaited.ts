import type { EventLog, Position } from '../event-log/event-log.js';
import { elapsed } from '../foundation/world.js';

/** Longer than another process takes to lead after a crash. */
const GIVEN_UP_AFTER_MS = 30_000;

/** The followers that a start waits for. */
export interface AwaitedFollowers {
  /** Whether all of them reach the position within the time. */
  reach(position: Position, withinMs: number): Promise<boolean>;
  /** How far each of them is, by name; undefined: nowhere yet. @throws while nothing is known. */
  at(): Promise<ReadonlyMap<string, Position | undefined>>;
}

/**
 * A process that starts waits until read models and reactions include what was recorded before,
 * while those behind it move on. Beside a dead projector or worker nobody waits for ever: requests
 * can be served.
 */
export class FollowersAwaited {
  private behind: string | undefined;
  private movedAt = elapsed();

  constructor(
    private readonly followers: AwaitedFollowers,
    private readonly compare: EventLog['compare'],
    private readonly givenUpAfterMs = GIVEN_UP_AFTER_MS,
  ) {}

  /** Still: those that are behind the head have not moved for too long. */
  async look(head: Position, withinMs: number): Promise<'reached' | 'moving' | 'still'> {
    if (await this.followers.reach(head, withinMs)) return 'reached';
    const behind = await this.behindNow(head);
    if (behind === undefined || behind !== this.behind) {
      this.behind = behind;
      this.movedAt = elapsed();
    }
    return elapsed() - this.movedAt >= this.givenUpAfterMs ? 'still' : 'moving';
  }

  /** Those that do not include the head, and where they are; undefined: unknown. */
  private async behindNow(head: Position): Promise<string | undefined> {
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
