import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { pictureOf, type CustomerState } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { ProviderCalls, ProviderEvent } from '../payment-provider.js';
import type { RecordProviderEvent } from './payment-events.js';

export interface Synced {
  /** Paid invoices that the provider has. */
  readonly invoices: number;
  /** What was recorded: no event had told it. */
  readonly applied: number;
}

interface SyncParts {
  readonly streams: Pick<ReadableStreams, 'customers'>;
  readonly names: KeyedNames;
  readonly record: RecordProviderEvent;
}

/**
 * Walks the provider's paid invoices and its subscriptions, and records what no event told; the
 * policies apply it. Repeated, it records nothing.
 * @param since epoch milliseconds: of the invoices and subscriptions that were made from then on.
 * @throws {ProviderFailure} what was recorded until then stays.
 */
export async function syncPayments(
  { streams, names, record }: SyncParts,
  scope: Scope,
  calls: ProviderCalls,
  since: number,
): Promise<Synced> {
  let [invoices, applied] = [0, 0];
  for await (const event of calls.factsSince(since)) {
    if (event.fact.kind === 'INVOICE_PAID') invoices += 1;
    if (event.fact.kind === 'IGNORED' || event.customer === null) continue;
    const { state } = await streams.customers.load(names.customerStream(scope, event.customer));
    if (isTold(state, event)) continue;
    if (await record(scope, event)) applied += 1;
  }
  return { invoices, applied };
}

/** Whether an event told it before. */
function isTold(state: CustomerState, { fact, invoice }: ProviderEvent): boolean {
  if (fact.kind === 'INVOICE_PAID')
    return state.facts.some(
      (known) => known.fact.kind === 'INVOICE_PAID' && known.ids?.invoice === invoice,
    );
  return pictureOf(state, 0).status === fact.kind;
}
