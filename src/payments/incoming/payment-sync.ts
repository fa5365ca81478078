import { isSeen, newestKindOf, type CustomerState } from '../../domain/customer/customer.state.js';
import type { Scope } from '../../domain/scope.js';
import { ProviderFailure, type ProviderCalls, type ProviderEvent } from '../payment-provider.js';
import { needsCall, type CustomerLookups, type RecordProviderEvent } from './payment-events.js';

export interface Synced {
  /** Paid invoices that the provider has. */
  readonly invoices: number;
  /** Facts recorded because no event had reported them. */
  readonly applied: number;
}

export interface SyncParts extends CustomerLookups {
  readonly record: RecordProviderEvent;
}

export interface WalkPage {
  readonly calls: ProviderCalls;
  /** Epoch milliseconds: invoices and subscriptions that were created since. */
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
 * Reads the provider's paid invoices and subscriptions and records what no event reported; policies
 * apply it. Idempotent. @throws {ProviderFailure} after recording a part.
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

/** @returns the next page; null: there is none. @throws {ProviderFailure} */
export async function syncPage(
  parts: SyncParts,
  scope: Scope,
  { calls, since, cursor }: WalkPage,
): Promise<Synced & { readonly next: string | null }> {
  const { streams, names, record } = parts;
  let [invoices, applied] = [0, 0];
  const refOf = (kind: 'invoice' | 'subscription', id: string): string =>
    names.providerObjectRef(scope, kind, id);
  const { facts, next } = await calls.factsPage(since, cursor);
  for (const event of facts) {
    if (event.fact.kind === 'INVOICE_PAID') invoices += 1;
    if (event.fact.kind === 'IGNORED') continue;
    const whole = event.customer === null ? await calls.completed(event) : event;
    if (whole.customer === null) continue;
    const { state } = await streams.customers.load(names.customerStream(scope, whole.customer));
    if (isSeen(state, names.providerEventRef(scope, event.id)) || isReported(state, event, refOf))
      continue;
    const isLeft = whole === event && (await needsCall(parts, scope, event));
    const said = isLeft ? await calls.completed(event) : whole;
    if ((await record(scope, said)) === 'recorded') applied += 1;
  }
  return { invoices, applied, next };
}

/** Whether an event has reported it, for any account. */
function isReported(
  state: CustomerState,
  { fact, invoice, subscription }: ProviderEvent,
  refOf: (kind: 'invoice' | 'subscription', id: string) => string,
): boolean {
  if (fact.kind === 'INVOICE_PAID') {
    const ref = invoice && refOf('invoice', invoice);
    return state.facts.some(
      ({ fact: known, ids, refs }) =>
        known.kind === 'INVOICE_PAID' && (ids?.invoice === invoice || refs?.invoice === ref),
    );
  }
  return newestKindOf(state, subscription && refOf('subscription', subscription)) === fact.kind;
}
