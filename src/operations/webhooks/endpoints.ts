import type { Core } from '../../stores/core.js';
import type { Refused } from '../../domain/refusal.js';
import type { Scope } from '../../domain/scope.js';
import { durationMs } from '../../foundation/duration.js';
import { endpointFigures } from '../../webhooks/deliveries/shown-deliveries.js';
import { FAILING_FROM } from '../../webhooks/deliveries/retry-times.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import type {
  ChangedSubscription,
  Subscription,
} from '../../webhooks/subscriptions/webhook-subscriptions.js';
import type { StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { decided, NotDone, notDone } from '../outcome.js';

/** Operations on endpoints: each returns the document that `--json` prints. */

export type EndpointToChange = Awaited<ReturnType<typeof endpointsToChange>>[number];

type WebhookCore = Pick<Core, 'pool' | 'webhooks'>;

/** The endpoints of a tenant and mode, in the order of their subscription. */
export const showEndpoints = async (core: WebhookCore, scope: Scope) =>
  (await endpointsToChange(core, scope)).map(
    ({ newestSecretId: _, lastFailure: __, ...shown }) => shown,
  );

/**
 * As `showEndpoints`, each with its last failure, and with the name of its newest secret, which its
 * rotation expects.
 */
export async function endpointsToChange(core: WebhookCore, scope: Scope) {
  const figures = await endpointFigures(core.pool, scope);
  return (await core.webhooks.list(scope)).map((one) => {
    const { endpointId, endpointUrl, name, eventTypes, disabled, newestSecretId } = one;
    const known = figures.find((each) => each.endpointId === endpointId);
    const isFailing = (known?.failures ?? 0) >= FAILING_FROM;
    return {
      endpointUrl,
      name,
      /** Null: all. */
      eventTypes,
      state: disabled !== null ? 'DISABLED' : isFailing ? 'FAILING' : 'ACTIVE',
      waiting: known?.waiting ?? 0,
      dead: known?.dead ?? 0,
      lastSuccess: known?.lastSuccess?.toISOString() ?? null,
      lastFailure: known?.lastFailure ?? null,
      newestSecretId,
    };
  });
}

/** Deliveries to a disabled endpoint begin again. */
export async function enableEndpoint(core: WebhookCore, meta: StaffMeta, endpoint: string) {
  const subscription = subscribedBy(await core.webhooks.enable(meta, endpoint));
  const result = (await showEndpoints(core, meta.scope)).find(
    ({ endpointUrl }) => endpointUrl === subscription.endpointUrl,
  );
  if (result === undefined) throw ENDPOINT_NOT_FOUND;
  return { result, parameters: {}, completed: 'the endpoint is enabled' };
}

/**
 * A new secret; the one before signs as well for the grace period, such as `24h`.
 * @param seen names the newest secret that the operator saw: refused when it is another one now.
 */
export async function rotateEndpointSecret(
  core: WebhookCore,
  meta: StaffMeta,
  { endpoint, grace, seen }: Record<'endpoint' | 'grace', string> & { seen?: string | undefined },
): Promise<Done<IssuedSecret>> {
  const graceMs = durationMs(grace);
  if (graceMs === undefined) throw notDone('the grace takes a time such as 24h, of a year at most');
  const changed = subscribedBy(await core.webhooks.rotateSecret(meta, endpoint, { graceMs, seen }));
  const { endpointUrl, secrets } = changed;
  const [secret] = secrets;
  if (secret === undefined) throw ENDPOINT_NOT_FOUND;
  const result = { endpointUrl, secret };
  const completed = 'the endpoint has a new secret';
  return { result, parameters: { grace }, digest: 'secret', completed };
}

/** The subscription behind a change of it. @throws {NotDone} */
function subscribedBy(changed: ChangedSubscription | Refused): Subscription {
  if ('refused' in changed && changed.refused !== 'CHANGED_MEANWHILE') throw ENDPOINT_NOT_FOUND;
  const { subscription } = decided(changed);
  if (subscription === undefined) throw ENDPOINT_NOT_FOUND;
  return subscription;
}

export const ENDPOINT_NOT_FOUND = new NotDone(
  'ENDPOINT_NOT_FOUND',
  ['there is no subscription of this URL in this mode: webhook list shows the subscriptions'],
  ['endpoint'],
);

/** A secret that signs deliveries, shown once. */
export interface IssuedSecret {
  readonly endpointUrl: string;
  readonly secret: string;
}

export const isIssuedSecret = (result: unknown): result is IssuedSecret =>
  typeof result === 'object' && result !== null && 'secret' in result && 'endpointUrl' in result;

interface EndpointToAdd {
  readonly endpointUrl: string;
  /** Undefined: a known endpoint keeps its own. */
  readonly name?: string | undefined;
  /** Empty, or with `all`: all types. Undefined: a known endpoint keeps its own. */
  readonly types?: readonly string[] | undefined;
}

/** Subscribes an endpoint, or changes and enables a known one. @param guard checks its address. */
export async function addEndpoint(
  core: WebhookCore,
  guard: Pick<EndpointGuard, 'check'>,
  meta: StaffMeta,
  { endpointUrl, name, types }: EndpointToAdd,
) {
  const eventTypes = types && typesIn(types);
  const checked = await guard.check(endpointUrl);
  if (checked.kind === 'malformed') throw notDone(`the endpoint ${checked.reason}`);
  if (checked.kind === 'not-allowed')
    throw notDone(`the endpoint ${checked.reason} (WEBHOOK_ALLOW_CIDRS allows further addresses)`);
  const { subscription, isNew } = decided(
    await core.webhooks.subscribe(meta, endpointUrl, { name, eventTypes }),
  );
  const [secret] = subscription?.secrets ?? [];
  if (subscription === undefined || secret === undefined)
    throw new Error('a new subscription has no secret');
  const { endpointUrl: url, name: named, eventTypes: receives } = subscription;
  // The secret of a new one is shown this once.
  const result = { endpointUrl: url, name: named, eventTypes: receives, ...(isNew && { secret }) };
  return { result, parameters: {}, digest: 'secret', completed: 'an endpoint is subscribed' };
}

/** As `addEndpoint`, refused for a known one. */
export async function addNewEndpoint(...asked: Parameters<typeof addEndpoint>) {
  const [core, , { scope }, { endpointUrl }] = asked;
  if ((await core.webhooks.find(scope, endpointUrl)) === undefined) return addEndpoint(...asked);
  throw notDone('the endpoint is subscribed already');
}

/** Changes the types of events that an endpoint receives. @param types none: all. */
export async function changeEndpointTypes(
  core: WebhookCore,
  meta: StaffMeta,
  { endpoint, types }: { readonly endpoint: string; readonly types: readonly string[] },
): Promise<Done<null>> {
  // To subscribe a disabled one again would enable it.
  await enabled(core, meta.scope, endpoint);
  const eventTypes = typesIn(types);
  decided(await core.webhooks.subscribe(meta, endpoint, { eventTypes }));
  const parameters = { types: eventTypes?.join(',') ?? 'all' };
  return { result: null, parameters, completed: 'the endpoint receives other types of events' };
}

/** Ends a subscription; what waits for it is not sent. */
export async function removeEndpoint(
  core: WebhookCore,
  meta: StaffMeta,
  endpoint: string,
): Promise<Done<{ readonly endpointUrl: string }>> {
  const changed = await core.webhooks.unsubscribe(meta, endpoint);
  if ('refused' in changed) subscribedBy(changed);
  const result = { endpointUrl: endpoint };
  return { result, parameters: {}, completed: 'the endpoint is unsubscribed' };
}

/** Null: all. */
function typesIn(types: readonly string[]): readonly WebhookType[] | null {
  if (types.includes('all')) return null;
  const known = WEBHOOK_TYPES.filter((type) => types.includes(type));
  if (new Set(types).size > known.length)
    throw notDone(`the types take ${WEBHOOK_TYPES.join(', ')}`);
  return known.length === 0 ? null : known;
}

/** A subscription that deliveries go to. @throws {NotDone} */
export async function enabled({ webhooks }: WebhookCore, scope: Scope, endpoint: string) {
  const found = await webhooks.find(scope, endpoint);
  if (found === undefined) throw ENDPOINT_NOT_FOUND;
  if (found.disabled !== null) throw notDone('the endpoint is disabled: enable it first');
  return found;
}
