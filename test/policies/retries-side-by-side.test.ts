import type pg from 'pg';
import { EventCodec } from '../../src/event-log/codec.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import { PostgresParkedReactions } from '../../src/policies/postgres-parked-reactions.js';
import { retryStream } from '../../src/policies/retry-stream.js';
import { openPool } from '../../src/postgres/database.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import { ErrorLines } from '../support/error-lines.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { OLD_FACT, streamOf, TestReleases } from '../support/releases.js';

let database: TestDatabase;
let pool: pg.Pool;
let log: PostgresEventLog;
let releases: TestReleases;
let parked: PostgresParkedReactions;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool({ url: database.url, max: 12, applicationName: 'test' });
  log = await PostgresEventLog.open({ url: database.url });
});
afterAll(async () => {
  await log.close();
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  releases = await TestReleases.on(pool, log);
  parked = new PostgresParkedReactions(pool);
});
afterEach(() => releases.stopAll());

const POLICY = 'to-old-facts';
const A_JOB = { kind: 'job', task: 'settle-reward', payload: {}, runAt: 0, key: 'k' } as const;

const eventsOf = async (stream: string): Promise<RecordedEvent[]> => {
  const found: RecordedEvent[] = [];
  for await (const event of log.readStream(stream)) found.push(event);
  return found;
};

/** A process that retries a stream, has read its rows, and waits before its last event. */
function aRetry(stream: string, last: bigint, done: Set<bigint>, failsAt?: bigint) {
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  let reached: () => void = () => undefined;
  const isThere = new Promise<void>((resolve) => (reached = resolve));
  const retried = retryStream(
    {
      parked,
      log,
      decode: decodeAny(new EventCodec(new InMemorySubjectKeys())),
      policies: [{ name: POLICY, handles: new Set([OLD_FACT] as const), react: () => [A_JOB] }],
      carryOut: async ({ revision }: { readonly revision: bigint }) => {
        if (revision === last) {
          reached();
          await gate;
        }
        if (revision === failsAt) throw new Error('not now');
        done.add(revision);
      },
      logger: new ErrorLines(),
    },
    stream,
    new AbortController().signal,
  );
  return { isThere, goOn: () => goOn(), retried };
}

it('a row is kept when events were skipped, also when another row of its policy was deleted meanwhile', async () => {
  await releases.happened('a', OLD_FACT, OLD_FACT, OLD_FACT);
  const stream = streamOf('a');
  const [first, second] = await eventsOf(stream);
  if (!first || !second) throw new Error('appended');
  const done = new Set<bigint>();
  await parked.park({ policy: POLICY, event: first, reason: 'not now' });
  const earlier = aRetry(stream, 2n, done);
  await earlier.isThere;
  // Another process retried a row of all policies, and this policy failed there.
  await parked.park({ policy: POLICY, event: second, reason: 'not now' });
  const later = aRetry(stream, 2n, done);
  await later.isThere;
  earlier.goOn();
  await earlier.retried;
  expect(await parked.ofStream(stream)).toMatchObject([{ revision: 1n }]);
  // The leader passes over the next event: the second row exists.
  await releases.happened('a', OLD_FACT);
  expect([...(await parked.passOver([stream])).keys()]).toEqual([stream]);
  later.goOn();
  await later.retried;
  const isDone = done.has(3n);
  const isParked = (await parked.ofStream(stream)).length > 0;
  expect({ isDone, isParked }).not.toEqual({ isDone: false, isParked: false });
});

it('a row that a leader parks once more is not deleted by a retry that began before', async () => {
  await releases.happened('a', OLD_FACT, OLD_FACT);
  const stream = streamOf('a');
  const [first] = await eventsOf(stream);
  if (!first) throw new Error('appended');
  const done = new Set<bigint>();
  // By a leader that lost its lock and has not noticed.
  await parked.park({ policy: POLICY, event: first, reason: 'not now' });
  const retry = aRetry(stream, 1n, done);
  await retry.isThere;
  await releases.happened('a', OLD_FACT);
  // The next leader, whose page has all three, fails at the first and passes over the others.
  await parked.park({ policy: POLICY, event: first, reason: 'not now' });
  retry.goOn();
  await retry.retried;
  const isDone = done.has(2n);
  const isParked = (await parked.ofStream(stream)).length > 0;
  expect({ isDone, isParked }).not.toEqual({ isDone: false, isParked: false });
});
