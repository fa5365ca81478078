import { NOTHING_PROVIDED, type InNeed, type Need, type Provided } from '../need.js';
import type { Accepted, Held } from '../decision.js';
import type { AccountEvent } from './account.events.js';
import { evolve, type OpenAccount } from './account.state.js';
import { holdOnEvent } from './moderation/holds.js';

/**
 * A state under change: folds each event when it is decided, so that the next step of the decision
 * sees it. Touching something that a moderation holds turns the decision into a wait.
 */
export class Draft {
  readonly events: AccountEvent[] = [];
  private readonly needs: Need[] = [];
  private heldBy: string | undefined;

  /** @param moderationId of the moderation that takes this step: its own holds do not block it. */
  constructor(
    public state: OpenAccount,
    readonly provided: Provided = NOTHING_PROVIDED,
    private readonly moderationId?: string,
  ) {}

  emit(...events: readonly AccountEvent[]): void {
    for (const event of events) {
      this.wait(holdOnEvent(this.state, event));
      this.events.push(event);
      const next = evolve(this.state, event);
      if (next.status === 'open') this.state = next;
    }
  }

  /** A moderation that holds this referral must end first. */
  dependOn(referralId: string): void {
    this.wait(this.state.holds.get(referralId));
  }

  /** Adds a need: it is fetched, then the command is decided again. */
  need(need: Need): void {
    // Several events of a call may have the same need.
    const isAsked =
      need.kind === 'earlier-events' && this.needs.some(({ kind }) => kind === need.kind);
    if (!isAsked) this.needs.push(need);
  }

  /** Waits take precedence: nothing is fetched for a decision that may change. */
  decision(): Accepted<AccountEvent> | Held | InNeed {
    if (this.heldBy !== undefined) return { heldBy: this.heldBy };
    return this.needs.length > 0 ? { needs: this.needs } : { events: this.events };
  }

  private wait(hold: string | undefined): void {
    if (hold !== this.moderationId) this.heldBy ??= hold;
  }
}
