import type { PaymentWorld } from '../../operations/registry/operation.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';

/** What operations on payments over HTTP need apart from the stores, as an injectable class. */
export class OperatedPayments implements PaymentWorld {
  constructor(
    readonly provider: PaymentWorld['provider'],
    private readonly endpointGuard: EndpointGuard,
    readonly publicUrl: () => string,
  ) {}

  readonly guard = (): Promise<EndpointGuard> => Promise.resolve(this.endpointGuard);
}
