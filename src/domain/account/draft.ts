import { NOTHING_PROVIDED, type InNeed, type Need, type Provided } from '../need.js';
import type { Accepted, Held } from '../decision.js';
import type { AccountEvent } from './account.events.js';
import { evolve, type OpenAccount } from './account.state.js';
import { holdOnEvent } from './holds.js';

/**
 * A state under change: each event is folded as soon as it is decided, so that the next step of the
 * same decision sees it. A draft that touches what a moderation holds comes to nothing but to wait
 * for it, whatever command it is of.
 */
export class Draft {
  readonly events: AccountEvent[] = [];
  private readonly needs: Need[] = [];
  private heldBy: string | undefined;

  /**
   * @param moderationId of the moderation whose own step this is: what it holds itself is not in
   * its way.
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
   * What is decided rests on the statuses of this referral: a moderation that holds it ends first.
   */
  restOn(referralId: string): void {
    this.wait(this.state.holds.get(referralId));
  }

  /** Without it nothing of this draft counts: the command is decided again once it was got. */
  need(need: Need): void {
    this.needs.push(need);
  }

  /** Waiting comes first: nothing is fetched for a decision that may turn out otherwise. */
  decision(): Accepted<AccountEvent> | Held | InNeed {
    if (this.heldBy !== undefined) return { heldBy: this.heldBy };
    return this.needs.length > 0 ? { needs: this.needs } : { events: this.events };
  }

  private wait(hold: string | undefined): void {
    if (hold !== this.moderationId) this.heldBy ??= hold;
  }
}
