import type { AccountRef, LedgerMode, Scope } from '../../domain/scope.js';
import { atDate } from '../../reacting/ledger-dates.js';
import type { NewWork, WorkPayload, WorkStore } from '../../work-queue/work-items.js';

/** The accounts whose rewards the payment provider is to pay: an item each, work and not facts. */

export const PAYMENTS = 'payment';

/** Reasons that are no fault: what waits for them is not late. */
export const WAITS_FOR = {
  subscription: 'no subscription yet',
  connection: 'the tenant is suspended or not connected',
} as const;

interface PaidAccount extends Scope {
  readonly account: AccountRef;
}

/** An account that is to be worked on. */
export interface AskedFor extends PaidAccount {
  /** Epoch milliseconds; null: now. */
  readonly dueAt: number | null;
  /** Whether refused rewards are tried again. */
  readonly retriesParked?: boolean;
}

const itemOf = ({ tenant, mode, account }: PaidAccount): Pick<NewWork, 'kind' | 'id'> => ({
  kind: PAYMENTS,
  id: `${tenant} ${mode} ${account}`,
});

/** In test mode every move of the test clock may make something due. */
export const lookedAtByMoves = (mode: LedgerMode): WorkPayload =>
  mode === 'live' ? {} : atDate(0);

/** Asks for an account. Harmless when repeated. */
export const askForWork = (
  store: Pick<WorkStore, 'add'>,
  { dueAt, retriesParked = false, ...of }: AskedFor,
): Promise<void> => {
  const { tenant, mode: lane, account } = of;
  const payload = {
    account,
    ...lookedAtByMoves(lane),
    ...(retriesParked && { retriesParked: 'true' }),
  };
  return store.add([{ ...itemOf(of), tenant, lane, dueAt, payload }]);
};

/** Looks again at an account that is waited for; nothing where nothing waits. */
export const wakeWork = (store: Pick<WorkStore, 'wake'>, of: PaidAccount): Promise<void> =>
  store.wake(itemOf(of));
