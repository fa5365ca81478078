import type { Scope } from '../../domain/scope.js';
import { NotDone } from '../../operations/outcome.js';
import {
  syncTenantPayments,
  type PaymentWorld,
} from '../../operations/payments/payment-commands.js';
import { reconcilePayments } from '../../operations/payments/payment-reconciliation.js';
import type { LedgerRun } from './ledger-runs.js';

/** Operations on a payment provider that may take long, the same over HTTP and in the console. */

export const syncRun = (
  world: PaymentWorld,
  scope: Scope,
  since: string | undefined,
): LedgerRun => ({
  operation: 'payment sync',
  parameters: { since },
  work: async (core, { signal, onProgress }) => {
    const result = await syncTenantPayments(core, world, scope, {
      since,
      signal,
      onProgress: (invoices) => onProgress('walking', invoices),
    });
    return result instanceof NotDone ? result : { result, parameters: { since } };
  },
});

export const paymentReconciliationRun = (world: PaymentWorld, scope: Scope): LedgerRun => ({
  operation: 'payment reconcile',
  parameters: {},
  work: async (core, { signal, onProgress }) => {
    const result = await reconcilePayments(core, world, scope, {
      signal,
      onProgress: (accounts) => onProgress('comparing', accounts),
    });
    return result instanceof NotDone ? result : { result, parameters: {} };
  },
});
