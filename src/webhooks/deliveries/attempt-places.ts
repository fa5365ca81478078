import { nameOf } from './delivery-rows.js';
import type { ClaimedDelivery, Room } from './due-deliveries.js';

/** Attempts under way in this process. */
const AT_ONCE = 512;
const OF_TENANT_AT_ONCE = AT_ONCE / 8;
/** Of all, and of those of a tenant: to endpoints that are slow or never answered well. */
const SLOW_SHARE = 1 / 2;
/**
 * A tenant has at most so many as there are free places, and half as many slow ones: the more are
 * taken, the fewer each may have, and one that has none finds one.
 */
const OF_FREE = 1;
const OF_FREE_SLOW = 1 / 2;
/** An answer that takes longer makes its endpoint a slow one. */
export const SLOW_MS = 2_000;

/** The place of an attempt, from its claim until it is recorded. */
export interface Place {
  readonly delivery: ClaimedDelivery;
  /** Before its claim, on the monotonic clock. */
  readonly claimedAt: number;
  /** When the request began, on the monotonic clock; undefined: its body is being made. */
  sentAt?: number;
  /** Its answer came, or none will. */
  isAnswered?: boolean;
}

interface Held {
  all: number;
  slow: number;
}

/**
 * Who has the places of this process. An endpoint that leaves a request without an answer for
 * `SLOW_MS` is a slow one at once, and gets no other request until it ends.
 */
export class AttemptPlaces {
  private readonly held = new Set<Place>();

  /** @param claimedAt before its claim, on the monotonic clock. */
  hold(delivery: ClaimedDelivery, claimedAt: number): Place {
    const place = { delivery, claimedAt };
    this.held.add(place);
    return place;
  }

  release(place: Place): void {
    this.held.delete(place);
  }

  /** What may be claimed besides. @param now on the monotonic clock. */
  room(areSlow: boolean, now: number): Room {
    const hanging = new Set<string>();
    for (const { delivery, sentAt = now, isAnswered } of this.held)
      if (!isAnswered && now - sentAt > SLOW_MS) hanging.add(nameOf(delivery));
    const inAll: Held = { all: 0, slow: 0 };
    const ofTenants = new Map<string, Held>();
    for (const { delivery } of this.held) {
      const isSlow = delivery.isSlow || hanging.has(nameOf(delivery));
      const ofTenant = heldBy(ofTenants, delivery.tenant);
      take(inAll, isSlow);
      take(ofTenant, isSlow);
    }
    return {
      deliveries: leftOf(AT_ONCE, inAll, areSlow),
      areSlow,
      fullTenants: [...ofTenants].filter(([, held]) => !mayTake(held)).map(([tenant]) => tenant),
      take(tenant) {
        const ofTenant = heldBy(ofTenants, tenant);
        if (!mayTake(ofTenant)) return false;
        take(inAll, areSlow);
        take(ofTenant, areSlow);
        return true;
      },
      hanging: [...hanging],
    };

    function mayTake(held: Held): boolean {
      const free = leftOf(AT_ONCE, inAll, areSlow);
      if (leftOf(OF_TENANT_AT_ONCE, held, areSlow) === 0) return false;
      return areSlow ? held.slow < free * OF_FREE_SLOW : held.all < free * OF_FREE;
    }
  }
}

/** How many further ones, of so many at most. */
const leftOf = (most: number, { all, slow }: Held, areSlow: boolean): number =>
  Math.max(0, areSlow ? Math.min(most - all, most * SLOW_SHARE - slow) : most - all);

function heldBy(all: Map<string, Held>, tenant: string): Held {
  const held = all.get(tenant) ?? { all: 0, slow: 0 };
  all.set(tenant, held);
  return held;
}

function take(held: Held, isSlow: boolean): void {
  held.all += 1;
  if (isSlow) held.slow += 1;
}
