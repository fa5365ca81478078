import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { COUNTED_MAX, rowsByPages, type RowQueries } from '../../projecting/following/row-lists.js';
import {
  countDeliveries,
  listDeliveries,
  type DeliveryFilter,
  type DeliverySort,
} from '../../webhooks/deliveries/shown-deliveries.js';
import { shownDelivery, urlsOf, type ShownDelivery } from './webhook-commands.js';

/** Lists of deliveries with a total. */

export interface DeliveryFilters extends Omit<DeliveryFilter, 'endpointId'> {
  /** Its URL. */
  readonly endpoint?: string | undefined;
}

type DeliveryCore = Pick<Core, 'pool' | 'webhooks'>;

const filterOf = (
  { webhooks }: DeliveryCore,
  scope: Scope,
  { endpoint, ...filter }: DeliveryFilters,
): DeliveryFilter => ({
  ...filter,
  endpointId: endpoint === undefined ? undefined : webhooks.idOf(scope, endpoint),
});

/** Deliveries as pages and files list them. */
export const deliveryQueries = (
  core: DeliveryCore,
): RowQueries<DeliveryFilters, DeliverySort, ShownDelivery> => {
  const shown = async (scope: Scope, request: Parameters<typeof listDeliveries>[2]) => {
    const urls = await urlsOf(core, scope);
    const found = await listDeliveries(core.pool, scope, request);
    return found.map((delivery) => shownDelivery(delivery, urls));
  };
  return {
    async page(scope, { filters, ...page }) {
      const filter = filterOf(core, scope, filters);
      const rows = await shown(scope, { ...filter, ...page });
      const count = await countDeliveries(core.pool, scope, filter, COUNTED_MAX);
      return { rows, total: Math.min(count, COUNTED_MAX), isAbout: count > COUNTED_MAX };
    },
    rows(scope, { filters, ...order }) {
      // What is recorded meanwhile does not move the rows.
      const filter = { until: new Date(), ...filterOf(core, scope, filters), ...order };
      return rowsByPages((page) => shown(scope, { ...filter, ...page }));
    },
  };
};
