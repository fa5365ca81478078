import type { Core } from '../../stores/core.js';
import type { Refused } from '../../domain/refusal.js';
import type { Scope } from '../../domain/scope.js';
import { durationMs } from '../../foundation/duration.js';
import { timeNow } from '../../foundation/world.js';
import {
  attemptsOf,
  endpointFigures,
  WEBHOOK_LIST,
  resend,
  type DeliveryState,
  type WebhookRow,
  type ResendSelection,
} from '../../webhooks/deliveries/shown-deliveries.js';
import { FAILING_FROM } from '../../webhooks/deliveries/retry-times.js';
import type { EndpointGuard } from '../../webhooks/sending/endpoint-guard.js';
import { WEBHOOK_TYPES, type WebhookType } from '../../webhooks/payloads/announced.js';
import type {
  ChangedSubscription,
  Subscription,
} from '../../webhooks/subscriptions/webhook-subscriptions.js';
import { timeOf } from '../ledger/ledger-selection.js';
import type { StaffMeta } from '../audit.js';
import type { Done } from '../audited.js';
import { decided, NotDone, notDone } from '../outcome.js';

/** Operations on webhooks: each returns the document that `--json` prints. */

export type EndpointToChange = Awaited<ReturnType<typeof endpointsToChange>>[number];
export type ShownDelivery = ReturnType<typeof shownDelivery>;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

type WebhookCore = Pick<Core, 'pool' | 'webhooks' | 'webhookAnswers'>;

interface DeliverySelection {
  readonly endpoint?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly type?: string | undefined;
  /** ISO 8601. */
  readonly since?: string | undefined;
  readonly limit: number;
}

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

/** Newest first. @throws {NotDone} */
export async function showDeliveries(
  core: WebhookCore,
  scope: Scope,
  { endpoint, since: from, ...selection }: DeliverySelection,
): Promise<readonly ShownDelivery[]> {
  const since = sinceOf(from);
  const endpointId = endpoint === undefined ? undefined : core.webhooks.idOf(scope, endpoint);
  const urls = await urlsOf(core, scope);
  const found = await WEBHOOK_LIST.list(core.pool, scope, { ...selection, since, endpointId });
  return found.map((delivery) => shownDelivery(delivery, urls));
}

/** One with its attempts, oldest first. @throws {NotDone} */
export async function showDelivery(core: WebhookCore, scope: Scope, id: string) {
  const delivery = await known(core, scope, id);
  const attempts = await attemptsOf(core.pool, id);
  return {
    ...shownDelivery(delivery, await urlsOf(core, scope)),
    attempts: await Promise.all(
      attempts.map(async ({ at, beginning, people, status, reason, ms }) => {
        const answer = beginning && (await core.webhookAnswers.open(beginning, id, people));
        return {
          at: at.toISOString(),
          /** Of the answer; null: none came. */
          status,
          reason,
          ms,
          /** Its beginning; null: none, or a person whom it may name was forgotten. */
          answer: answer?.toString() ?? null,
        };
      }),
    ),
  };
}

/** One delivery, or all of an endpoint since a time. */
type ResentDeliveries =
  { readonly delivery: string } | { readonly endpoint: string; readonly since: string };

/**
 * Sends deliveries again, with the same ids: only what the present subscription of the endpoint
 * was sent. @throws {NotDone}
 */
export async function resendDeliveries(
  core: WebhookCore,
  scope: Scope,
  which: ResentDeliveries,
): Promise<Done<{ readonly resent: number }>> {
  const chosen = await resentOf(core, scope, which);
  const resent = await resend(core.pool, scope, chosen);
  const parameters = 'since' in which ? { since: which.since } : { id: which.delivery };
  return { result: { resent }, parameters, completed: `${resent} deliveries are sent again` };
}

async function resentOf(
  core: WebhookCore,
  scope: Scope,
  which: ResentDeliveries,
): Promise<ResendSelection> {
  if ('delivery' in which) {
    const { id, endpointId } = await known(core, scope, which.delivery);
    if ((await core.webhooks.list(scope)).some((one) => one.endpointId === endpointId))
      return { id, endpointId };
    throw NOT_FOUND;
  }
  const subscription = await core.webhooks.find(scope, which.endpoint);
  if (subscription === undefined) throw NOT_FOUND;
  return { endpointId: subscription.endpointId, since: sinceOf(which.since) ?? new Date(0) };
}

/** Deliveries to a disabled endpoint begin again. */
export async function enableEndpoint(core: WebhookCore, meta: StaffMeta, endpoint: string) {
  const subscription = subscribedBy(await core.webhooks.enable(meta, endpoint));
  const result = (await showEndpoints(core, meta.scope)).find(
    ({ endpointUrl }) => endpointUrl === subscription.endpointUrl,
  );
  if (result === undefined) throw NOT_FOUND;
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
  if (secret === undefined) throw NOT_FOUND;
  const result = { endpointUrl, secret };
  const completed = 'the endpoint has a new secret';
  return { result, parameters: { grace }, digest: 'secret', completed };
}

function sinceOf(text: string | undefined): Date | undefined {
  const since = timeOf('since', text, timeNow());
  return since === undefined ? undefined : new Date(since);
}

async function known(core: WebhookCore, scope: Scope, id: string): Promise<WebhookRow> {
  const [delivery] = UUID.test(id)
    ? await WEBHOOK_LIST.list(core.pool, scope, { id, limit: 1 })
    : [];
  if (delivery === undefined) throw deliveryNotFound();
  return delivery;
}

export const deliveryNotFound = (): NotDone =>
  new NotDone('DELIVERY_NOT_FOUND', ['there is no such delivery']);

/** The subscription behind a change of it. @throws {NotDone} */
function subscribedBy(changed: ChangedSubscription | Refused): Subscription {
  if ('refused' in changed && changed.refused !== 'CHANGED_MEANWHILE') throw NOT_FOUND;
  const { subscription } = decided(changed);
  if (subscription === undefined) throw NOT_FOUND;
  return subscription;
}

const NOT_FOUND = new NotDone(
  'ENDPOINT_NOT_FOUND',
  ['there is no subscription of this URL in this mode: webhook list shows the subscriptions'],
  ['endpoint'],
);

export async function urlsOf(
  { webhooks }: Pick<WebhookCore, 'webhooks'>,
  scope: Scope,
): Promise<ReadonlyMap<string, string>> {
  const all = await webhooks.list(scope);
  return new Map(all.map(({ endpointId, endpointUrl }) => [endpointId, endpointUrl]));
}

export const shownDelivery = (
  { id, webhookId, type, endpointId, state, attempts, nextAttemptAt, created }: WebhookRow,
  urls: ReadonlyMap<string, string>,
) => ({
  id,
  /** `id` of the body, `webhook-id` of the headers. */
  eventId: webhookId,
  type,
  /** Null: its subscription ended. */
  endpointUrl: urls.get(endpointId) ?? null,
  state,
  attempts,
  nextAttemptAt: state === 'PENDING' ? (nextAttemptAt?.toISOString() ?? null) : null,
  created: created.toISOString(),
});

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
  if (found === undefined) throw NOT_FOUND;
  if (found.disabled !== null) throw notDone('the endpoint is disabled: enable it first');
  return found;
}
