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

/** Credit grows by imported + issued − redeemed − expired − cancelled + restored. */
export type Movement = Readonly<
  Partial<Record<'issued' | 'redeemed' | 'expired' | 'cancelled' | 'restored' | 'imported', number>>
>;

type Standing = Pick<CreditItem, 'phase' | 'cancelled' | 'assigned' | 'redeemed'>;

const leftOf = ({ assigned, redeemed }: Standing): number => assigned - redeemed;

const isAvailable = ({ phase, cancelled }: Standing): boolean =>
  !cancelled && phase === 'AVAILABLE';

export const availableOf = (item: Standing): number => (isAvailable(item) ? leftOf(item) : 0);

/** The effect of an event on available credit. @param before undefined: it granted the reward. */
export function movementOf(before: Standing | undefined, after: Standing): Movement {
  const redeemed = after.redeemed - (before?.redeemed ?? 0);
  if (before === undefined || !isAvailable(before)) {
    if (!isAvailable(after)) return {};
    // A redemption may be the first event that shows scheduled credit as available.
    return { ...enteredFrom(before, leftOf(after) + redeemed), redeemed };
  }
  if (isAvailable(after)) return { redeemed };
  return after.cancelled ? { cancelled: leftOf(before) } : { expired: leftOf(before) };
}

function enteredFrom(before: Standing | undefined, amount: number): Movement {
  if (before?.cancelled) return { restored: amount };
  return before?.phase === 'EXPIRED' ? { expired: -amount } : { issued: amount };
}
