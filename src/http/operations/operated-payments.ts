import type { PaymentWorld } from '../../operations/payments/payment-commands.js';

/** What operations on payments over HTTP need beside the stores, as an injectable class. */
export class OperatedPayments implements PaymentWorld {
  constructor(
    readonly provider: PaymentWorld['provider'],
    readonly guard: PaymentWorld['guard'],
    readonly publicUrl: () => string,
  ) {}
}
