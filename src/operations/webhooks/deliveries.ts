import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import type { RowQueries } from '../../projecting/following/row-lists.js';
import {
  attemptsOf,
  resend,
  WEBHOOK_LIST,
  type ResendSelection,
  type WebhookFilter,
  type WebhookRow,
} from '../../webhooks/deliveries/shown-deliveries.js';
import type { DeliveryPage, DeliverySort } from '../../work-queue/listed-deliveries.js';
import type { Done } from '../audited.js';
import { timeOf } from '../ledger/ledger-selection.js';
import { NotDone } from '../outcome.js';
import { pagesOf } from './delivery-pages.js';
import { ENDPOINT_NOT_FOUND } from './endpoints.js';

/** Deliveries of webhooks, as `--json` prints them. */

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

type DeliveryCore = Pick<Core, 'pool' | 'webhooks'>;

export type ShownDelivery = ReturnType<typeof shownDelivery>;

interface DeliveryFilters extends Omit<WebhookFilter, 'id' | 'endpointId'> {
  /** Its URL. */
  readonly endpoint?: string | undefined;
}

const filterOf = <F extends DeliveryFilters>(
  { webhooks }: DeliveryCore,
  scope: Scope,
  { endpoint, ...filter }: F,
) => ({
  ...filter,
  endpointId: endpoint === undefined ? undefined : webhooks.idOf(scope, endpoint),
});

/** In an order, by default the newest first. */
export async function listedDeliveries(
  core: DeliveryCore,
  scope: Scope,
  request: DeliveryFilters & DeliveryPage,
): Promise<readonly ShownDelivery[]> {
  const urls = await urlsOf(core, scope);
  const found = await WEBHOOK_LIST.list(core.pool, scope, filterOf(core, scope, request));
  return found.map((delivery) => shownDelivery(delivery, urls));
}

/** Deliveries as pages and files list them. */
export const deliveryQueries = (
  core: DeliveryCore,
): RowQueries<DeliveryFilters, DeliverySort, ShownDelivery> =>
  pagesOf(
    (scope, request) => listedDeliveries(core, scope, request),
    (scope, filter, countedMax) =>
      WEBHOOK_LIST.count(core.pool, scope, filterOf(core, scope, filter), countedMax),
  );

/** One with its attempts, oldest first. @throws {NotDone} */
export async function showDelivery(
  core: DeliveryCore & Pick<Core, 'webhookAnswers'>,
  scope: Scope,
  id: string,
) {
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
  core: DeliveryCore,
  scope: Scope,
  which: ResentDeliveries,
): Promise<Done<{ readonly resent: number }>> {
  const chosen = await resentOf(core, scope, which);
  const resent = await resend(core.pool, scope, chosen);
  const parameters = 'since' in which ? { since: which.since } : { id: which.delivery };
  return { result: { resent }, parameters, completed: `${resent} deliveries are sent again` };
}

async function resentOf(
  core: DeliveryCore,
  scope: Scope,
  which: ResentDeliveries,
): Promise<ResendSelection> {
  if ('delivery' in which) {
    const { id, endpointId } = await known(core, scope, which.delivery);
    if ((await core.webhooks.list(scope)).some((one) => one.endpointId === endpointId))
      return { id, endpointId };
    throw ENDPOINT_NOT_FOUND;
  }
  const subscription = await core.webhooks.find(scope, which.endpoint);
  if (subscription === undefined) throw ENDPOINT_NOT_FOUND;
  return { endpointId: subscription.endpointId, since: sinceOf(which.since) ?? new Date(0) };
}

/** @throws {NotDone} */
export function sinceOf(text: string | undefined): Date | undefined {
  const since = timeOf('since', text, timeNow());
  return since === undefined ? undefined : new Date(since);
}

async function known(core: DeliveryCore, scope: Scope, id: string): Promise<WebhookRow> {
  const [delivery] = UUID.test(id)
    ? await WEBHOOK_LIST.list(core.pool, scope, { id, limit: 1 })
    : [];
  if (delivery === undefined) throw deliveryNotFound();
  return delivery;
}

export const deliveryNotFound = (): NotDone =>
  new NotDone('DELIVERY_NOT_FOUND', ['there is no such delivery']);

async function urlsOf(
  { webhooks }: DeliveryCore,
  scope: Scope,
): Promise<ReadonlyMap<string, string>> {
  const all = await webhooks.list(scope);
  return new Map(all.map(({ endpointId, endpointUrl }) => [endpointId, endpointUrl]));
}

const shownDelivery = (
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
