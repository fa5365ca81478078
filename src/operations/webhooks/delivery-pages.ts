import { timeNow } from '../../foundation/world.js';
import type { Scope } from '../../domain/scope.js';
import { COUNTED_MAX, rowsByPages, type RowQueries } from '../../projecting/following/row-lists.js';
import type { DeliveryPage, DeliverySort } from '../../work-queue/listed-deliveries.js';

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
