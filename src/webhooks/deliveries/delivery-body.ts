import { ledgerTime } from '../../tenants/tenant-directory.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { SubjectId } from '../../domain/personal.js';
import { scopeOfStream } from '../../privacy/keyed-names.js';
import type { PayloadData, Payloads } from '../payloads/payloads.js';
import { testData } from '../payloads/presented.js';
import { sampleData } from '../payloads/sample-data.js';
import { webhookBody } from '../signing/signed-webhook.js';
import type { Subscription } from '../subscriptions/webhook-subscriptions.js';
import type { NewDelivery } from './delivery-rows.js';

export interface DeliveryBody {
  readonly made: ReturnType<typeof webhookBody>;
  readonly people: readonly SubjectId[];
}

export interface Receiver {
  readonly tenant: OpenTenant;
  readonly subscription: Pick<Subscription, 'endpointUrl' | 'name'>;
}

/**
 * Makes the body of a delivery from the log: the same at every call, unless a person or code in it
 * was forgotten. `forgotten`: its subject was; `nothing`: the log lost the event.
 * @throws {EventLogUnavailable} {UnreadableEvent}
 */
export async function deliveryBody(
  payloads: Pick<Payloads, 'data'>,
  delivery: NewDelivery,
  { tenant, subscription }: Receiver,
): Promise<DeliveryBody | 'forgotten' | 'nothing'> {
  const data = await dataOf(payloads, delivery, subscription);
  if (data.kind !== 'made') return data.kind;
  const { webhookId: id, type, tenant: tenantAlias, mode } = delivery;
  const created = data.created ?? ledgerTime(tenant, mode, delivery.created);
  const envelope = { id, type, tenantAlias, live: mode === 'live', created, data: data.data };
  return { made: webhookBody(envelope), people: data.people };
}

async function dataOf(
  payloads: Pick<Payloads, 'data'>,
  { event, type, subject, tenant, mode }: NewDelivery,
  { endpointUrl, name }: Receiver['subscription'],
): Promise<PayloadData> {
  if (event === null) {
    const data = type === 'test' ? testData(endpointUrl, name) : await sampleData(type);
    return { kind: 'made', data, people: [] };
  }
  const { stream, revision, eventId } = event;
  const ledger = scopeOfStream(stream) ?? { tenant, mode };
  return payloads.data({ ...ledger, stream, revision, eventId, announced: { type, subject } });
}
