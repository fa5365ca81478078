/** A reward of credit. Times are epoch milliseconds. */
export type CreditItem = {
  /** As recorded; the clock may be ahead of it. */
  readonly phase: 'PENDING' | 'AVAILABLE' | 'EXPIRED';
  readonly cancelled: boolean;
  readonly assigned: number;
  readonly redeemed: number;
  readonly date_scheduled_for: number | null;
  readonly date_expires: number | null;
  /** Redeemed in full when it becomes available. */
  readonly redeems_automatically: boolean;
};

/**
 * A change of available credit, like a roll-forward: imported + issued − redeemed − expired −
 * cancelled + restored is what it grew by.
 */
export type Movement = Readonly<
  Partial<Record<'issued' | 'redeemed' | 'expired' | 'cancelled' | 'restored' | 'imported', number>>
>;

type Standing = Pick<CreditItem, 'phase' | 'cancelled' | 'assigned' | 'redeemed'>;

const leftOf = ({ assigned, redeemed }: Standing): number => assigned - redeemed;

const isAvailable = ({ phase, cancelled }: Standing): boolean =>
  !cancelled && phase === 'AVAILABLE';

export const availableOf = (item: Standing): number => (isAvailable(item) ? leftOf(item) : 0);

/** What an event did to available credit. @param before undefined: it granted the reward. */
export function movementOf(before: Standing | undefined, after: Standing): Movement {
  const redeemed = after.redeemed - (before?.redeemed ?? 0);
  if (before === undefined || !isAvailable(before)) {
    if (!isAvailable(after)) return {};
    // A redemption may be what says that scheduled credit became available.
    return { ...enteredFrom(before, leftOf(after) + redeemed), redeemed };
  }
  if (isAvailable(after)) return { redeemed };
  return after.cancelled ? { cancelled: leftOf(before) } : { expired: leftOf(before) };
}

function enteredFrom(before: Standing | undefined, amount: number): Movement {
  if (before?.cancelled) return { restored: amount };
  return before?.phase === 'EXPIRED' ? { expired: -amount } : { issued: amount };
}

/** When the clock will next change what is available; null: never. */
export function nextDue(
  item: Pick<CreditItem, 'cancelled' | 'phase' | 'date_scheduled_for' | 'date_expires'>,
): number | null {
  if (item.cancelled || item.phase === 'EXPIRED') return null;
  const scheduled = item.phase === 'PENDING' ? item.date_scheduled_for : null;
  if (scheduled === null || item.date_expires === null) return scheduled ?? item.date_expires;
  return Math.min(scheduled, item.date_expires);
}
