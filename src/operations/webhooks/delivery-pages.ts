import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import {
  COUNTED_MAX,
  type ListAnswer,
  type ListFileRequest,
  type ListRequest,
} from '../../projecting/following/row-lists.js';
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

/** A page of deliveries. */
export async function deliveryPage(
  core: DeliveryCore,
  scope: Scope,
  { filters, ...page }: ListRequest<DeliveryFilters, DeliverySort>,
): Promise<ListAnswer<ShownDelivery>> {
  const filter = filterOf(core, scope, filters);
  const urls = await urlsOf(core, scope);
  const found = await listDeliveries(core.pool, scope, { ...filter, ...page });
  const count = await countDeliveries(core.pool, scope, filter, COUNTED_MAX);
  return {
    rows: found.map((delivery) => shownDelivery(delivery, urls)),
    total: Math.min(count, COUNTED_MAX),
    isAbout: count > COUNTED_MAX,
  };
}

const PIECE_ROWS = 1_000;

/** All deliveries of before the call, for a file. */
export async function* deliveryRows(
  core: DeliveryCore,
  scope: Scope,
  { filters, ...order }: ListFileRequest<DeliveryFilters, DeliverySort>,
): AsyncGenerator<ShownDelivery> {
  const urls = await urlsOf(core, scope);
  // What is recorded meanwhile does not move the rows.
  const filter = { until: new Date(), ...filterOf(core, scope, filters) };
  for (let offset = 0; ; offset += PIECE_ROWS) {
    const page = { ...filter, ...order, limit: PIECE_ROWS, offset };
    const found = await listDeliveries(core.pool, scope, page);
    for (const delivery of found) yield shownDelivery(delivery, urls);
    if (found.length < PIECE_ROWS) return;
  }
}
