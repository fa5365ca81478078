import { parseEventStoreUrl } from '../../src/event-log/event-store-url.js';
import { EventStoreDbWire } from '../../src/event-log/eventstoredb/eventstoredb-wire.js';
import { startEventStoreDbCluster } from '../support/eventstoredb-double/cluster.js';
import { startEventStoreDbDouble } from '../support/eventstoredb-double/double.js';
import { appendSections } from './eventstoredb-behaviour/append-rows.js';
import {
  newMeeting,
  type BehaviourRow,
  type BehaviourSection,
} from './eventstoredb-behaviour/behaviour-row.js';
import { clusterSections } from './eventstoredb-behaviour/cluster-rows.js';
import { doubleSections } from './eventstoredb-behaviour/double-rows.js';
import { faultSections } from './eventstoredb-behaviour/fault-rows.js';
import { readSections } from './eventstoredb-behaviour/read-rows.js';
import { subscriptionSections } from './eventstoredb-behaviour/subscription-rows.js';

/**
 * What a server answers, case by case: the table of release 23.10, with what 24.10 does otherwise.
 * The double is held to 23.10 in every run, and a server that others started to the table of its
 * release when ESDB_URL names one: what both do the same, tests on the double say about the server,
 * too.
 */
const SECTIONS: readonly BehaviourSection[] = [
  ...appendSections,
  ...readSections,
  ...subscriptionSections,
  ...faultSections,
  ...clusterSections,
  ...doubleSections,
];

const ESDB_URL = process.env.ESDB_URL;

const onDouble = async (row: BehaviourRow): Promise<unknown> => {
  if (row.needs === 'cluster') {
    const cluster = await startEventStoreDbCluster();
    try {
      return await row.run(cluster);
    } finally {
      await cluster.stop();
    }
  }
  const double = await startEventStoreDbDouble();
  const meeting = newMeeting(double.url);
  try {
    return await row.run(meeting, double);
  } finally {
    double.faults.clear();
    await meeting.dispose();
    await double.stop();
  }
};

/** The year of its release. */
async function releaseOf(url: string): Promise<number> {
  const wire = new EventStoreDbWire(parseEventStoreUrl(url));
  try {
    return Number.parseInt(await wire.serverVersion(), 10);
  } finally {
    await wire.close();
  }
}

// The client warns of keep-alive intervals that make a test wait for seconds instead of minutes.
beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation());
afterEach(() => jest.restoreAllMocks());

describe('the double behaves as EventStoreDB does', () => {
  describe.each(SECTIONS)('$title', ({ rows }) => {
    it.each(rows)('$name', async (row) => {
      expect(await onDouble(row)).toEqual(row.expected);
    });
  });
});

if (ESDB_URL !== undefined) {
  describe('EventStoreDB behaves as the double does', () => {
    for (const { title, rows } of SECTIONS) {
      const runnable = rows.filter((row) => row.needs === 'server');
      if (runnable.length === 0) continue;
      describe(title, () => {
        it.each(runnable)('$name', async (row) => {
          const meeting = newMeeting(ESDB_URL);
          try {
            const { expected, expectedIn24 = expected } = row;
            const isIn24 = (await releaseOf(ESDB_URL)) >= 24;
            expect(await row.run(meeting)).toEqual(isIn24 ? expectedIn24 : expected);
          } finally {
            await meeting.dispose();
          }
        });
      });
    }

    it('leaves out what a server cannot be asked for, by name', () => {
      const left = SECTIONS.flatMap(({ title, rows }) =>
        rows.flatMap((row) =>
          row.needs === 'server' ? [] : [`not run: ${title}: ${row.name} (${row.because})`],
        ),
      );
      process.stdout.write(`${left.join('\n')}\n`);
      expect(left.length).toBe(
        SECTIONS.flatMap(({ rows }) => rows).filter(({ needs }) => needs !== 'server').length,
      );
    });
  });
}
