import type { Scope } from '../../domain/scope.js';
import { isRemoved } from '../../domain/tenant/test-clock.js';
import { isThemeStream, scopeOfStream } from '../../privacy/keyed-names.js';
import type { Core } from '../../stores/core.js';
import { deliveryBody } from '../../webhooks/deliveries/delivery-body.js';
import type { NewDelivery } from '../../webhooks/deliveries/delivery-rows.js';
import { storedDelivery } from '../../webhooks/deliveries/shown-deliveries.js';
import { Payloads } from '../../webhooks/payloads/payloads.js';
import { sampleHeaders } from '../../webhooks/payloads/sample-data.js';
import { tenantNamed } from '../tenants/tenant-operation.js';
import { deliveryNotFound, showDelivery } from './deliveries.js';

type RequestCore = Pick<
  Core,
  'pool' | 'tenants' | 'webhooks' | 'webhookAnswers' | 'log' | 'codec' | 'keys' | 'names'
>;

const MASKED = '•••';

/** A delivery with its attempts and its request, made from the log now. @throws {NotDone} */
export async function deliveryDetails(
  core: RequestCore,
  scope: Scope,
  { id, publicUrl }: { readonly id: string; readonly publicUrl: () => string },
) {
  const shown = await showDelivery(core, scope, id);
  const delivery = await storedDelivery(core.pool, scope, id);
  if (delivery === undefined) throw deliveryNotFound();
  const headers = headersOf(delivery, shown.attempts.at(-1)?.at);
  return { ...shown, request: { headers, ...(await bodyOf(core, delivery, publicUrl)) } };
}

/** The JSON that is sent; null with why there is none any more. */
async function bodyOf(core: RequestCore, delivery: NewDelivery, publicUrl: () => string) {
  const without = (missing: string) => ({ body: null, missing });
  const tenant = await tenantNamed(core, delivery.tenant);
  const stream = delivery.event?.stream ?? '';
  const ledger = scopeOfStream(stream);
  if (ledger && !isThemeStream(stream) && isRemoved(tenant, ledger))
    return without('event removed');
  const known = await core.webhooks.list(delivery);
  const found = known.find(({ endpointId }) => endpointId === delivery.endpointId);
  // Only a test names the endpoint.
  if (found === undefined && delivery.type === 'test') return without('endpoint removed');
  const subscription = found ?? { endpointUrl: '', name: null };
  const { log, codec, keys, names } = core;
  const payloads = new Payloads({ log, codec, keys, names, publicUrl });
  const made = await deliveryBody(payloads, delivery, { tenant, subscription });
  if (made === 'forgotten') return without('person forgotten');
  if (made === 'nothing') return without('event removed');
  return { body: made.made.body.toString(), missing: null };
}

/** In the order in which they are sent: no secret, and no signature that proves one. */
function headersOf({ webhookId, type, event }: NewDelivery, at: string | undefined) {
  const sent = at === undefined ? MASKED : String(Math.floor(Date.parse(at) / 1_000));
  return Object.entries({
    'content-type': 'application/json',
    'webhook-id': webhookId,
    'webhook-timestamp': sent,
    'webhook-signature': `v1,${MASKED}`,
    'X-Hook-JWS-RFC-7797': `${MASKED}..${MASKED}`,
    ...(event === null ? sampleHeaders(type) : {}),
  });
}
