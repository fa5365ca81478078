import type { AccountRef, LedgerMode, Scope } from '../../domain/scope.js';
import { atDate } from '../../reacting/ledger-dates.js';
import type { NewWork, WorkPayload, WorkStore } from '../../work-queue/work-items.js';

/** Work items of accounts with rewards that the payment provider is to pay. */

export const PAYMENTS = 'payment';

/** Reasons for waiting that do not count as late. */
export const WAITS_FOR = {
  subscription: 'no subscription yet',
  connection: 'the tenant is suspended or not connected',
} as const;

interface PaidAccount extends Scope {
  readonly account: AccountRef;
}

export interface PaymentRequest extends PaidAccount {
  /** Epoch milliseconds; null: now. */
  readonly dueAt: number | null;
  /** Whether to retry refused rewards. */
  readonly retriesParked?: boolean;
}

const itemOf = ({ tenant, mode, account }: PaidAccount): Pick<NewWork, 'kind' | 'id'> => ({
  kind: PAYMENTS,
  id: `${tenant} ${mode} ${account}`,
});

/** In test mode every move of the test clock may make something due. */
export const movedWithTestClock = (mode: LedgerMode): WorkPayload =>
  mode === 'live' ? {} : atDate(0);

/** Adds work for an account. Idempotent. */
export const requestPayment = (
  store: Pick<WorkStore, 'add'>,
  { dueAt, retriesParked = false, ...of }: PaymentRequest,
): Promise<void> => {
  const { tenant, mode: lane, account } = of;
  const payload = {
    account,
    ...movedWithTestClock(lane),
    ...(retriesParked && { retriesParked: 'true' }),
  };
  return store.add([{ ...itemOf(of), tenant, lane, dueAt, payload }]);
};

/** Makes the waiting work of an account due; without such work, does nothing. */
export const wakePayment = (store: Pick<WorkStore, 'wake'>, of: PaidAccount): Promise<void> =>
  store.wake(itemOf(of));
