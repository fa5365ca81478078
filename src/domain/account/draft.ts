import { NOTHING_PROVIDED, type InNeed, type Need, type Provided } from '../need.js';
import type { Accepted, Held } from '../decision.js';
import type { AccountEvent } from './account.events.js';
import { evolve, type OpenAccount } from './account.state.js';
import { holdOnEvent } from './moderation/holds.js';

/**
 * A state under change: each event is folded as soon as it is decided, so that the next step of the
 * same decision sees it. A draft that touches something held by a moderation becomes a wait for
 * that moderation.
 */
export class Draft {
  readonly events: AccountEvent[] = [];
  private readonly needs: Need[] = [];
  private heldBy: string | undefined;

  /**
   * @param moderationId of the moderation whose own step this is: its own holds do not block it.
   */
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

  /**
   * The decision depends on the statuses of this referral: a moderation that holds it must end
   * first.
   */
  restOn(referralId: string): void {
    this.wait(this.state.holds.get(referralId));
  }

  /** The decision is incomplete without it; it is fetched, then the command is decided again. */
  need(need: Need): void {
    // Each event of a call may lack the same past.
    const isAsked =
      need.kind === 'earlier-events' && this.needs.some(({ kind }) => kind === need.kind);
    if (!isAsked) this.needs.push(need);
  }

  /** A wait comes first: nothing is fetched for a decision that may change. */
  decision(): Accepted<AccountEvent> | Held | InNeed {
    if (this.heldBy !== undefined) return { heldBy: this.heldBy };
    return this.needs.length > 0 ? { needs: this.needs } : { events: this.events };
  }

  private wait(hold: string | undefined): void {
    if (hold !== this.moderationId) this.heldBy ??= hold;
  }
}
