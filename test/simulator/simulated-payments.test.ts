import { SeededRandom } from '../../simulator/seeded-random.js';
import {
  SimulatedPaymentTable,
  simulatedProviderRows,
} from '../../simulator/simulated-payments.js';
import { WorkTable } from '../../simulator/simulated-work.js';
import { providerRows } from '../../src/payments/incoming/payment-rows.js';
import { useDatabase } from '../support/database.js';
import { newSeed } from '../support/new-seed.js';
import { alike, inOrder, line, MINUTE, SCOPES } from './support/alike.js';

/** The same calls in a random order, on the tables of payments and on the simulated ones. */

let random: SeededRandom;
let now: number;
const { pool } = useDatabase(6);
beforeEach(() => {
  random = new SeededRandom(newSeed('simulated payments'));
  now = Date.now();
});

it('rows of providers, and events that wait for an account', async () => {
  const table = new SimulatedPaymentTable(
    () => now,
    new WorkTable({ now: () => now, elapsed: () => now }, new Set()),
  );
  const [real, other] = [providerRows(pool), simulatedProviderRows(table, line)];
  const both = async (call: (rows: typeof real) => Promise<unknown>) => {
    const plain = (value: unknown) =>
      Array.isArray(value) ? inOrder(value) : value instanceof Date ? 'walked' : value;
    const answers = [plain(await call(real)), plain(await call(other))];
    expect([random.seed, answers[1]]).toEqual([random.seed, answers[0]]);
  };
  const stored = async () => {
    const waiting = await pool.query<object>(
      `select event_ref, extract(epoch from at)::float8 * 1000 as at, is_linked, stream, subject
       from ledger.payment_waiting_events`,
    );
    return inOrder(waiting.rows);
  };
  const simulated = () =>
    inOrder(
      [...table.waiting].map(([event_ref, { at, isLinked, stream, subject }]) => ({
        event_ref,
        at,
        is_linked: isLinked,
        stream,
        subject,
      })),
    );
  const subjects = Array.from({ length: 3 }, () => random.uuid());
  await alike(random, async () => {
    now = Math.max(Date.now(), now + 1);
    const scope = random.oneOf(SCOPES);
    const [subject, at] = [random.oneOf(subjects), now - random.below(1_000) * MINUTE];
    const stream = `stream of ${subject}`;
    const eventRef = `event ${random.below(20)}`;
    const steps = {
      recordEventTime: () => both((rows) => rows.recordEventTime(scope, at)),
      recordConnection: () => both((rows) => rows.recordConnection(scope)),
      recordSync: () => both((rows) => rows.recordSync(scope)),
      walkedAt: () => both((rows) => rows.walkedAt(scope)),
      addWaiting: () => both((rows) => rows.addWaiting(scope, stream, { eventRef, subject, at })),
      markLinked: () => both((rows) => rows.markLinked(stream)),
      expiredKeys: () => both((rows) => rows.expiredKeys(at, 99)),
      dropExpired: () => both((rows) => rows.dropExpired(subject, at)),
      restartWait: () => both((rows) => rows.restartWait(subject, at)),
    };
    const notes = { recordEventTime: 2, recordConnection: 1, recordSync: 1, walkedAt: 2 };
    const waits = { addWaiting: 8, markLinked: 1, expiredKeys: 3, dropExpired: 1, restartWait: 1 };
    const name = random.weighted({ ...notes, ...waits });
    await steps[name]();
    return [name, await stored(), simulated()];
  });
});
