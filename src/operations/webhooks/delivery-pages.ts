import { timeNow } from '../../foundation/world.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { COUNTED_MAX, rowsByPages, type RowQueries } from '../../projecting/following/row-lists.js';
import { WEBHOOK_LIST, type WebhookFilter } from '../../webhooks/deliveries/shown-deliveries.js';
import type { DeliveryPage, DeliverySort } from '../../work-queue/listed-deliveries.js';
import { shownDelivery, urlsOf, type ShownDelivery } from './webhook-commands.js';

/** Pages and files of webhooks or mails. @param count up to a bound. */
export const pagesOf = <F extends object, R>(
  list: (scope: Scope, request: F & DeliveryPage) => Promise<readonly R[]>,
  count: (scope: Scope, filter: F, countedMax: number) => Promise<number>,
): RowQueries<F, DeliverySort, R> => ({
  async page(scope, { filters, ...page }) {
    const rows = await list(scope, { ...filters, ...page });
    const all = await count(scope, filters, COUNTED_MAX);
    return { rows, total: Math.min(all, COUNTED_MAX), isAbout: all > COUNTED_MAX };
  },
  rows(scope, { filters, ...order }) {
    // What is recorded meanwhile does not move the rows.
    const request = { until: new Date(timeNow()), ...filters, ...order };
    return rowsByPages((page) => list(scope, { ...request, ...page }));
  },
});

export interface DeliveryFilters extends Omit<WebhookFilter, 'id' | 'endpointId'> {
  /** Its URL. */
  readonly endpoint?: string | undefined;
}

/** Deliveries as pages and files list them. */
export function deliveryQueries(
  core: Pick<Core, 'pool' | 'webhooks'>,
): RowQueries<DeliveryFilters, DeliverySort, ShownDelivery> {
  const { pool, webhooks } = core;
  const filterOf = <F extends DeliveryFilters>(scope: Scope, { endpoint, ...filter }: F) => ({
    ...filter,
    endpointId: endpoint === undefined ? undefined : webhooks.idOf(scope, endpoint),
  });
  return pagesOf(
    async (scope, request) => {
      const urls = await urlsOf(core, scope);
      const found = await WEBHOOK_LIST.list(pool, scope, filterOf(scope, request));
      return found.map((delivery) => shownDelivery(delivery, urls));
    },
    (scope, filter, countedMax) =>
      WEBHOOK_LIST.count(pool, scope, filterOf(scope, filter), countedMax),
  );
}
