import type { Position } from '../event-log/event-log.js';
import { elapsed } from '../foundation/world.js';
import type { PolicyRunner } from '../policies/policy-runner.js';

/** Longer than another process takes to lead after a crash. */
const GIVEN_UP_AFTER_MS = 30_000;

/**
 * A process that starts waits for the reactions to what was recorded before, while they move on.
 * Without a worker nobody waits for ever: requests can be served.
 */
export class ReactionsAwaited {
  private at: Position | null | undefined;
  private movedAt = elapsed();

  constructor(
    private readonly policies: Pick<PolicyRunner, 'waitFor' | 'checkpoint'>,
    private readonly givenUpAfterMs = GIVEN_UP_AFTER_MS,
  ) {}

  /** Whether the start need not wait any more: reached, or standing still for too long. */
  async areOver(head: Position, withinMs: number): Promise<boolean> {
    if (await this.policies.waitFor(head, withinMs)) return true;
    // The database is away: nothing is known.
    const at = await this.policies.checkpoint().catch(() => undefined);
    if (at === undefined || at !== this.at) {
      this.at = at;
      this.movedAt = elapsed();
    }
    return elapsed() - this.movedAt >= this.givenUpAfterMs;
  }
}
