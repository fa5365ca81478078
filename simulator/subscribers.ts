import { newId } from '../src/foundation/world.js';
import type { CommandMeta } from '../src/event-log/envelope.js';
import type { Scope } from '../src/domain/scope.js';
import type { SeededRandom } from './seeded-random.js';
import type { SharedStores, SimulatedService } from './service.js';
import { Owner, type VirtualWorld } from './virtual-world.js';

/** Between two changes of subscriptions, at most. */
const EVERY_MS = 2_000;

export interface SubscribersParts {
  readonly world: VirtualWorld;
  readonly random: SeededRandom;
  readonly scope: Scope;
  readonly shared: SharedStores;
  readonly services: readonly SimulatedService[];
  /** That they subscribe; 0: no endpoint subscribes. */
  readonly endpoints: number;
}

/** Developers who subscribe, change and end the endpoints of their webhooks. */
export class Subscribers {
  private readonly itself = new Owner('subscribers');
  private isOver = false;

  constructor(private readonly parts: SubscribersParts) {}

  start(): void {
    if (this.parts.endpoints > 0) this.later();
  }

  /** From now on subscriptions stay as they are. */
  stop(): void {
    this.isOver = true;
  }

  private later(): void {
    const { world } = this.parts;
    world.hand(this.itself, () => this.next(), world.within(EVERY_MS));
  }

  private next(): void {
    if (this.isOver) return;
    const { world, random, services, shared } = this.parts;
    const service = random.oneOf(services);
    world.hand(service.owner, () => void this.change(service).catch(() => undefined));
    shared.webhooks.sendSome(random);
    this.later();
  }

  private async change({ subscriptions }: SimulatedService): Promise<void> {
    const { random, scope, endpoints } = this.parts;
    const url = `https://receiver-${random.below(endpoints)}.example/hook`;
    const meta = metaOf(scope);
    switch (random.below(6)) {
      case 0:
        await subscriptions.unsubscribe(meta, url);
        return;
      case 1: {
        const known = await subscriptions.find(scope, url);
        if (known) await subscriptions.disable(meta, { ...known, because: 'OPERATOR' });
        return;
      }
      case 2:
        await subscriptions.enable(meta, url);
        return;
      default:
        await subscriptions.subscribe(meta, url, { name: random.oneOf([null, 'a name']) });
    }
  }
}

function metaOf(scope: Scope): CommandMeta {
  const [commandId, correlationId] = [newId(), newId()];
  const actor = { kind: 'system', id: 'simulator' } as const;
  return { scope, commandId, correlationId, causationId: correlationId, actor, idempotency: null };
}
