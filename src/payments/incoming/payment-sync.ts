import type { ReadableStreams } from '../../command-handling/readable-streams.js';
import { isSeen, pictureOf, type CustomerState } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { ProviderFailure, type ProviderCalls, type ProviderEvent } from '../payment-provider.js';
import type { RecordProviderEvent } from './payment-events.js';

export interface Synced {
  /** Paid invoices that the provider has. */
  readonly invoices: number;
  /** What was recorded: no event had told it. */
  readonly applied: number;
}

export interface SyncParts {
  readonly streams: Pick<ReadableStreams, 'customers'>;
  readonly names: KeyedNames;
  readonly record: RecordProviderEvent;
}

/** A page of a walk. */
export interface WalkPage {
  readonly calls: ProviderCalls;
  /** Epoch milliseconds: of the invoices and subscriptions that were made from then on. */
  readonly since: number;
  /** Null: the first page. */
  readonly cursor: string | null;
}

export interface Walk extends Omit<WalkPage, 'cursor'> {
  readonly signal?: AbortSignal;
  /** @param invoices so far. */
  readonly onProgress?: (invoices: number) => void;
}

/**
 * Walks the provider's paid invoices and its subscriptions, and records what no event told; the
 * policies apply it. Repeated, it records nothing.
 * @throws {ProviderFailure} what was recorded until then stays.
 */
export async function syncPayments(
  parts: SyncParts,
  scope: Scope,
  { signal, onProgress, ...walk }: Walk,
): Promise<Synced> {
  let all: Synced = { invoices: 0, applied: 0 };
  let cursor: string | null = null;
  do {
    const { invoices, applied, next } = await syncPage(parts, scope, { ...walk, cursor });
    all = { invoices: all.invoices + invoices, applied: all.applied + applied };
    onProgress?.(all.invoices);
    if (signal?.aborted) throw new ProviderFailure('unavailable', 'it was cancelled');
    cursor = next;
  } while (cursor !== null);
  return all;
}

/** @returns the page behind; null: there is none. @throws {ProviderFailure} */
export async function syncPage(
  { streams, names, record }: SyncParts,
  scope: Scope,
  { calls, since, cursor }: WalkPage,
): Promise<Synced & { readonly next: string | null }> {
  let [invoices, applied] = [0, 0];
  const { facts, next } = await calls.factsPage(since, cursor);
  for (const event of facts) {
    if (event.fact.kind === 'INVOICE_PAID') invoices += 1;
    if (event.fact.kind === 'IGNORED' || event.customer === null) continue;
    const { state } = await streams.customers.load(names.customerStream(scope, event.customer));
    if (isSeen(state, names.providerEventRef(scope, event.id)) || isTold(state, event)) continue;
    if ((await record(scope, await withInvoice(event, calls))) === 'recorded') applied += 1;
  }
  return { invoices, applied, next };
}

/**
 * A refund with the invoice that it is of, as an event that came is recorded. Only refunds in full
 * have an effect.
 */
async function withInvoice(event: ProviderEvent, calls: ProviderCalls): Promise<ProviderEvent> {
  const { fact, invoice, payments } = event;
  const [payment] = payments;
  const isWhole = fact.kind === 'REFUNDED' && fact.amountRefunded >= fact.amount;
  if (!isWhole || invoice !== null || payment === undefined) return event;
  try {
    return { ...event, invoice: await calls.invoicePaidBy(payment) };
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'refused') return event;
    throw error;
  }
}

/** Whether an event told it before. */
function isTold(state: CustomerState, { fact, invoice }: ProviderEvent): boolean {
  if (fact.kind === 'INVOICE_PAID')
    return state.facts.some(
      (known) => known.fact.kind === 'INVOICE_PAID' && known.ids?.invoice === invoice,
    );
  return pictureOf(state, 0).status === fact.kind;
}
