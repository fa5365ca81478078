import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { settleLoss } from '../../src/core/lost-log.js';
import { EventCodec } from '../../src/event-log/codec.js';
import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import { loadPolicyCheckpoint } from '../../src/policies/policy-checkpoint.js';
import { PostgresParkedReactions } from '../../src/policies/postgres-parked-reactions.js';
import { retryStream } from '../../src/policies/retry-stream.js';
import { openPool } from '../../src/postgres/database.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import { ErrorLines } from '../support/error-lines.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { loseTail, numberOf } from '../support/lost-tail.js';
import { OLD_FACT, streamOf, TestReleases } from '../support/releases.js';

/** Parked reactions that a retry carried out, and whose effects the log loses. */

let database: TestDatabase;
let pool: pg.Pool;
let log: PostgresEventLog;
let releases: TestReleases;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool({
    url: database.url,
    max: 8,
    applicationName: 'retried',
    bigintAsText: false,
  });
  log = await PostgresEventLog.open({ url: database.url });
});
afterEach(() => releases.stopAll());
afterAll(async () => {
  await log.close();
  await pool.end();
  await database.drop();
});

it('what a retry carried out is carried out again after the log lost it, though the checkpoint stands', async () => {
  releases = await TestReleases.on(pool, log);
  releases.failure = ({ stream }) =>
    stream === streamOf('late') ? new Error('not yet') : undefined;
  const runner = releases.newer();
  await releases.happened('late', OLD_FACT);
  const head = await releases.happened('other', OLD_FACT);
  expect(await runner.waitFor(head, 20_000)).toBe(true);
  await releases.stop(runner);
  const parked = new PostgresParkedReactions(pool);
  expect([...(await parked.streams()).keys()]).toEqual([streamOf('late')]);

  const policies = ['to-old-facts', 'to-both'].map((name) => ({
    name,
    handles: new Set([OLD_FACT] as const),
    react: () => [{ kind: 'job', task: 'settle-reward', payload: {}, runAt: 0, key: 'k' } as const],
  }));
  await retryStream(
    {
      parked,
      log,
      decode: decodeAny(new EventCodec(new InMemorySubjectKeys())),
      policies,
      logger: new ErrorLines(),
      carryOut: async () => {
        const effect = { id: randomUUID(), type: 'Effect', data: '{}', metadata: '{}' };
        await log.append(`effect-${effect.id}`, 'no-stream', [effect]);
      },
    },
    streamOf('late'),
    new AbortController().signal,
  );
  expect((await parked.streams()).size).toBe(0);

  await loseTail(pool, numberOf(head));
  const { witness } = await loadPolicyCheckpoint(pool);
  expect(witness && (await log.holds(witness))).toBe(true);
  const noticed = log.newestSeen;
  await settleLoss({ pool, log, projectors: [], logger: { warn: () => undefined } }, noticed);
  releases.failure = () => undefined;
  releases.done.length = 0;
  releases.newer();
  const isRepeated = (policy: string): boolean =>
    releases.done.some((done) => done.policy === policy && done.stream === streamOf('late'));
  await eventually(() => Promise.resolve(isRepeated('to-old-facts') && isRepeated('to-both')));
  // A retry notes what it carried out after it has done so.
  await eventually(
    async () => (await pool.query('select from ledger.retried_reactions')).rowCount === 2,
  );
});
