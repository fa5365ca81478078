import { nameOf } from './delivery-rows.js';
import type { ClaimedDelivery, Room } from './due-deliveries.js';

/** Attempts under way in this process. */
const AT_ONCE = 512;
const OF_TENANT_AT_ONCE = AT_ONCE / 8;
/** Of all, and of those of a tenant: to endpoints that are slow or never answered well. */
const SLOW_SHARE = 1 / 2;
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
      const ofTenant = ofTenants.get(delivery.tenant) ?? { all: 0, slow: 0 };
      ofTenants.set(delivery.tenant, ofTenant);
      const isSlow = delivery.isSlow || hanging.has(nameOf(delivery));
      for (const held of [inAll, ofTenant]) {
        held.all += 1;
        if (isSlow) held.slow += 1;
      }
    }
    const left = (most: number, { all, slow }: Held): number =>
      Math.max(0, areSlow ? Math.min(most - all, most * SLOW_SHARE - slow) : most - all);
    const leftOf = (tenant: string): number =>
      left(OF_TENANT_AT_ONCE, ofTenants.get(tenant) ?? { all: 0, slow: 0 });
    return {
      deliveries: left(AT_ONCE, inAll),
      areSlow,
      fullTenants: [...ofTenants.keys()].filter((tenant) => leftOf(tenant) === 0),
      leftOf,
      hanging: [...hanging],
    };
  }
}
