import type { AccountEvent } from '../../../src/domain/account/account.events.js';

interface Account {
  readonly unit: string;
  readonly assigned: number;
  readonly scheduledFor: number | null;
  readonly expires: number | null;
  /** Redeemed the moment it becomes available: nobody may spend it. */
  readonly redeemsItself: boolean;
  place: 'pending' | 'available' | 'expired';
  isCancelled: boolean;
  readonly amounts: {
    pending: number;
    available: number;
    expired: number;
    cancelled: number;
    redeemed: number;
  };
}

/**
 * The account's credit as a bookkeeper would see it: every event moves an amount from one place to
 * another. Written apart from the service's fold. Throws when a place would be overdrawn, or when
 * the places do not add up to what was assigned.
 */
export class Postings {
  private readonly accounts = new Map<string, Account>();

  post(event: AccountEvent): void {
    if (event.type === 'RewardGranted') return this.open(event);
    if (!('rewardId' in event) || event.type === 'RewardWithheld') return;
    const account = this.accounts.get(event.rewardId);
    if (!account) return;
    const move = (
      from: keyof Account['amounts'],
      to: keyof Account['amounts'],
      amount: number,
    ): void => {
      account.amounts[from] -= amount;
      account.amounts[to] += amount;
    };
    switch (event.type) {
      case 'RewardBecameAvailable':
        move('pending', 'available', event.amount);
        account.place = 'available';
        break;
      case 'RewardExpired':
        move(account.place, 'expired', event.amount);
        account.place = 'expired';
        break;
      case 'CreditRedeemed':
        if (account.isCancelled || account.place !== 'available')
          throw new Error('credit was redeemed that is not available');
        move('available', 'redeemed', event.amount);
        break;
      case 'RewardCancelled':
        move(account.place, 'cancelled', event.amount);
        account.isCancelled = true;
        break;
      case 'RewardRestored':
        move('cancelled', account.place, event.amount);
        account.isCancelled = false;
        break;
      case 'RewardPushStarted':
      case 'RewardPushed':
      case 'RewardPushRefused':
        // What the provider took is redeemed by an event of its own.
        break;
    }
    this.check(account);
  }

  /** What may be spent, by the clock. */
  availableAt(unit: string, now: number): number {
    return [...this.accounts.values()]
      .filter(
        (account) =>
          account.unit === unit.toLowerCase() && !account.isCancelled && !account.redeemsItself,
      )
      .filter(
        ({ scheduledFor, expires }) => (scheduledFor ?? now) <= now && (expires ?? Infinity) > now,
      )
      .reduce((sum, { assigned, amounts }) => sum + assigned - amounts.redeemed, 0);
  }

  private open({
    rewardId,
    value,
    dateScheduledFor,
    dateExpires,
    redeemsAutomatically,
  }: Extract<AccountEvent, { type: 'RewardGranted' }>): void {
    if (value.type !== 'CREDIT') return;
    const place = dateScheduledFor === null ? 'available' : 'pending';
    const amounts = {
      pending: 0,
      available: 0,
      expired: 0,
      cancelled: 0,
      redeemed: 0,
      [place]: value.assignedCredit,
    };
    const dates = { scheduledFor: dateScheduledFor, expires: dateExpires };
    this.accounts.set(rewardId, {
      unit: value.unit.toLowerCase(),
      assigned: value.assignedCredit,
      ...dates,
      redeemsItself: redeemsAutomatically,
      place,
      isCancelled: false,
      amounts,
    });
  }

  private check({ amounts, assigned, isCancelled }: Account): void {
    const all = Object.values(amounts);
    if (all.some((amount) => amount < 0))
      throw new Error(`a place is overdrawn: ${JSON.stringify(amounts)}`);
    if (all.reduce((sum, amount) => sum + amount, 0) !== assigned)
      throw new Error(`the places do not add up: ${JSON.stringify(amounts)}`);
    if (isCancelled && amounts.available + amounts.pending > 0)
      throw new Error('a cancelled reward has credit left');
  }
}
