import { startEventStoreDbDouble } from '../support/eventstoredb-double/double.js';
import { appendSections } from './eventstoredb-behaviour/append-rows.js';
import { newMeeting } from './eventstoredb-behaviour/behaviour-row.js';

describe('smoke', () => {
  for (const { title, rows } of appendSections)
    describe(title, () => {
      for (const row of rows)
        it(row.name, async () => {
          const double = process.env.ESDB_URL ? undefined : await startEventStoreDbDouble();
          const meeting = newMeeting(process.env.ESDB_URL ?? double!.url);
          try {
            if (row.needs === 'server') expect(await row.run(meeting)).toEqual(row.expected);
          } finally {
            await meeting.dispose();
            await double?.stop();
          }
        });
    });
});
