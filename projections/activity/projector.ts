import { defineProjector } from '../../src/projecting/define-projector.js';
import { activity } from './table.js';

export const activityProjector = defineProjector({
  name: 'activity',
  tables: [activity],
  on: {
    OperationRecorded: {
      keys: ({ eventId }) => [activity.key(eventId)],
      apply({ event, eventId, tenant, mode, actor }, rows) {
        const { at, operation, by, parameters, reason } = event;
        activity.put(rows, {
          event_id: eventId,
          tenant,
          mode,
          at,
          operation,
          // Events of older releases name no channel.
          channel: actor.channel ?? 'cli',
          staff: by.subject,
          name: by.value,
          parameters,
          reason: reason?.value ?? null,
          about: reason?.subject ?? null,
        });
      },
    },
  },
  forgetting: {
    lookups: ({ persons }) => [
      activity.lookup({ staff: [...persons] }, [{ column: 'event_id' }]),
      activity.lookup({ about: [...persons] }, [{ column: 'event_id' }]),
    ],
    clean({ persons }, rows) {
      for (const row of activity.found(rows))
        activity.put(rows, {
          ...row,
          name: persons.has(row.staff) ? null : row.name,
          reason: row.about !== null && persons.has(row.about) ? null : row.reason,
        });
    },
  },
});
