import { ActivityQueries } from '../../../projections/activity/queries.js';
import { timeNow } from '../../foundation/world.js';
import { personNamed, shownStaff } from '../audit.js';
import { timeOf } from '../ledger/ledger-selection.js';
import { readFrom } from '../rebuilt-read-models.js';
import { given, help, limit, tenant, text, time } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';
import { get } from '../registry/routes.js';
import { tenantNamed } from '../tenants/tenant-operation.js';

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'activity list',
    summary: 'the recorded operations, newest first',
    members: {
      tenant: help(tenant.optional(), 'of this tenant only'),
      by: given(text.optional(), { placeholder: 'name', help: 'by this operator only' }),
      since: given(time.optional(), { placeholder: 'time', help: 'from this time on' }),
      limit: limit(100),
    },
    positions: ['tenant'],
    roles: ['finance', 'support'],
    route: get('activity', 'TENANT_NOT_FOUND'),
    examples: ['activity list', 'activity list acme --by sam --since 2026-01-31'],
    run: async ({ core }, { tenant: alias, by, since: from, limit: most }) => {
      const since = timeOf('since', from, timeNow());
      if (alias !== undefined) await tenantNamed(core, alias);
      const asked = { tenant: alias, by: by && personNamed(by), since, limit: most };
      const found = await readFrom(core, 'activity', ActivityQueries, (activity) =>
        activity.list(asked),
      );
      return found.map(({ at, channel, operation, mode, ...row }) => ({
        at: new Date(at).toISOString(),
        actor: shownStaff({ name: row.name ?? 'anonymous', channel }),
        channel,
        operation,
        tenant: row.tenant,
        mode,
        eventId: row.event_id,
      }));
    },
    columns: ['at', 'actor', 'channel', 'operation', 'tenant', 'mode', ['event', 'eventId']],
    empty: 'no operation is recorded',
  }),
];
