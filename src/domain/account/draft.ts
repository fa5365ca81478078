import { NOTHING_PROVIDED, type InNeed, type Need, type Provided } from '../need.js';
import type { Accepted } from '../refusal.js';
import type { AccountEvent } from './account.events.js';
import { evolve, type OpenAccount } from './account.state.js';

/** A state under change: each event is folded as soon as it is decided, so that the next step of the same decision sees it. */
export class Draft {
  readonly events: AccountEvent[] = [];
  private readonly needs: Need[] = [];

  constructor(
    public state: OpenAccount,
    readonly provided: Provided = NOTHING_PROVIDED,
  ) {}

  emit(...events: readonly AccountEvent[]): void {
    for (const event of events) {
      this.events.push(event);
      const next = evolve(this.state, event);
      if (next.status === 'open') this.state = next;
    }
  }

  /** Without it nothing of this draft counts: the command is decided again once it was got. */
  need(need: Need): void {
    this.needs.push(need);
  }

  decision(): Accepted<AccountEvent> | InNeed {
    return this.needs.length > 0 ? { needs: this.needs } : { events: this.events };
  }
}
