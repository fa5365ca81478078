import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import type { Reaction } from '../../reacting/policy.js';
import type { DomainEvent } from '../../domain/events.js';
import { isInUse } from '../../domain/reservation/reservation.decider.js';
import { reservationOfCustomer } from '../../privacy/keyed-names.js';
import type { LedgerEvent } from '../../projecting/projector.js';
import type { WorkStore } from '../../work-queue/work-items.js';
import { requestPayment, wakePayment } from './payment-work.js';

type PaymentReaction = Extract<Reaction, { kind: 'payment' }>;

/** Adds work for accounts that an event gives something to pay. */
export class RewardPayments {
  /** Called when work is due. */
  onRequested: () => void = () => undefined;

  constructor(
    private readonly parts: {
      readonly work: Pick<WorkStore, 'add' | 'wake'>;
      readonly tenants: Pick<TenantDirectory, 'read'>;
      readonly streams: Pick<ReadableStreams, 'reservations'>;
    },
  ) {}

  /** Idempotent. @throws when the database or the log is unavailable. */
  async plan(event: LedgerEvent<DomainEvent>, { of, dueAt }: PaymentReaction): Promise<void> {
    const { work, tenants, streams } = this.parts;
    const { tenant, mode } = event;
    if ((await tenants.read(tenant))?.programType !== 'PAYMENT_PROVIDER') return;
    if ('account' in of) await requestPayment(work, { tenant, mode, account: of.account, dueAt });
    else {
      const { state } = await streams.reservations.load(reservationOfCustomer(of.customer));
      if (!isInUse(state)) return;
      await wakePayment(work, { tenant, mode, account: state.holder.account });
    }
    this.onRequested();
  }
}
