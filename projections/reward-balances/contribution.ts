import type { RewardSource } from '../../src/domain/account/account.events.js';
import type { RewardType } from '../../src/domain/program.js';

/** A reward as far as its balance depends on it. Times are epoch milliseconds. */
export type BalanceItem = {
  readonly type: RewardType;
  readonly source: RewardSource;
  /** As recorded; the clock may be ahead of it: see `atTime`. */
  readonly phase: 'PENDING' | 'AVAILABLE' | 'EXPIRED';
  readonly cancelled: boolean;
  /** CREDIT only, else 0. */
  readonly assigned: number;
  readonly redeemed: number;
  /** PCT_DISCOUNT only, else 0. */
  readonly percent: number;
  readonly date_scheduled_for: number | null;
  readonly date_expires: number | null;
  /** Redeemed in full when it becomes available. */
  readonly redeems_automatically: boolean;
};

export type Bucket = 'pending' | 'available' | 'expired' | 'cancelled';

/** The integer sums of contributions. A change of a reward replaces its old contribution. */
export type Figures = {
  readonly count: number;
  readonly redeemed_credit: number;
  readonly available_credit: number;
  readonly pending_credit: number;
  readonly expired_credit: number;
  readonly cancelled_credit: number;
  readonly discount_percent: number;
  readonly referred_percent: number;
  readonly referrer_percent: number;
  readonly fuel_tank_codes: number;
};

export const NOTHING: Figures = {
  count: 0,
  redeemed_credit: 0,
  available_credit: 0,
  pending_credit: 0,
  expired_credit: 0,
  cancelled_credit: 0,
  discount_percent: 0,
  referred_percent: 0,
  referrer_percent: 0,
  fuel_tank_codes: 0,
};

export function bucketOf({ cancelled, phase }: Pick<BalanceItem, 'cancelled' | 'phase'>): Bucket {
  if (cancelled) return 'cancelled';
  return phase === 'PENDING' ? 'pending' : phase === 'EXPIRED' ? 'expired' : 'available';
}

export function contribution(item: BalanceItem): Figures {
  const bucket = bucketOf(item);
  const available = bucket === 'available';
  switch (item.type) {
    case 'CREDIT': {
      const left = item.assigned - item.redeemed;
      return {
        count: item.redeemed > 0 || (available && left > 0) ? 1 : 0,
        redeemed_credit: item.redeemed,
        available_credit: available ? left : 0,
        pending_credit: bucket === 'pending' ? left : 0,
        expired_credit: bucket === 'expired' ? left : 0,
        cancelled_credit: bucket === 'cancelled' ? left : 0,
        discount_percent: 0,
        referred_percent: 0,
        referrer_percent: 0,
        fuel_tank_codes: 0,
      };
    }
    case 'PCT_DISCOUNT': {
      if (!available) return NOTHING;
      return {
        ...NOTHING,
        count: 1,
        discount_percent: item.percent,
        referred_percent: item.source === 'REFERRED' ? item.percent : 0,
        referrer_percent: item.source === 'FRIEND_SIGNUP' ? item.percent : 0,
      };
    }
    case 'FUELTANK':
      return available ? { ...NOTHING, count: 1, fuel_tank_codes: 1 } : NOTHING;
  }
}

/** The item by the clock, both dates inclusive. */
export function atTime<I extends BalanceItem>(item: I, now: number): I {
  const becomesAvailable = item.phase === 'PENDING' && (item.date_scheduled_for ?? 0) <= now;
  const redeemed =
    becomesAvailable && !item.cancelled && item.redeems_automatically
      ? item.assigned
      : item.redeemed;
  if (item.date_expires !== null && item.date_expires <= now)
    return { ...item, redeemed, phase: 'EXPIRED' };
  return becomesAvailable ? { ...item, redeemed, phase: 'AVAILABLE' } : item;
}

/** When the clock will next change the contribution; null: never. */
export function nextDue(
  item: Pick<BalanceItem, 'cancelled' | 'phase' | 'date_scheduled_for' | 'date_expires'>,
): number | null {
  if (item.cancelled || item.phase === 'EXPIRED') return null;
  const scheduled = item.phase === 'PENDING' ? item.date_scheduled_for : null;
  if (scheduled === null || item.date_expires === null) return scheduled ?? item.date_expires;
  return Math.min(scheduled, item.date_expires);
}

export function sum(a: Figures, b: Figures): Figures {
  return combine(a, b, (x, y) => x + y);
}

export function difference(a: Figures, b: Figures): Figures {
  return combine(a, b, (x, y) => x - y);
}

function combine(a: Figures, b: Figures, operation: (x: number, y: number) => number): Figures {
  return {
    count: operation(a.count, b.count),
    redeemed_credit: operation(a.redeemed_credit, b.redeemed_credit),
    available_credit: operation(a.available_credit, b.available_credit),
    pending_credit: operation(a.pending_credit, b.pending_credit),
    expired_credit: operation(a.expired_credit, b.expired_credit),
    cancelled_credit: operation(a.cancelled_credit, b.cancelled_credit),
    discount_percent: operation(a.discount_percent, b.discount_percent),
    referred_percent: operation(a.referred_percent, b.referred_percent),
    referrer_percent: operation(a.referrer_percent, b.referrer_percent),
    fuel_tank_codes: operation(a.fuel_tank_codes, b.fuel_tank_codes),
  };
}
