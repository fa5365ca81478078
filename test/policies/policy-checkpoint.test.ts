import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import {
  beginCheckpoint,
  loadCheckpoint,
  moveCheckpoint,
} from '../../src/following/checkpoints.js';
import { POLICIES_HANDLER } from '../../src/reacting/policy-checkpoint.js';
import { postgresPolicyStores } from '../../src/reacting/policy-stores.js';
import { PostgresParkedReactions } from '../../src/reacting/postgres-parked-reactions.js';
import type { Locks } from '../../src/postgres/leadership.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { OLD_FACT, streamOf, TestReleases } from '../support/releases.js';
import { openForEach, openOnce } from '../support/opened.js';

const { database, pool } = useDatabase(8);
const openLog = () => PostgresEventLog.open({ url: database.url });
const log = openOnce(openLog, 'close');
const releases = openForEach(() => TestReleases.on(pool, log), 'stopAll');
beforeEach(async () => {
  await pool.query('truncate ledger.handler_checkpoints');
});

it('a checkpoint moves from the version that its writer knows, and from no other', async () => {
  const at = (reached: string) => ({ reached, witness: undefined, trail: undefined });
  await beginCheckpoint(pool, POLICIES_HANDLER, null);
  const next = await moveCheckpoint(pool, POLICIES_HANDLER, 0n, at('m-7'));
  await moveCheckpoint(pool, POLICIES_HANDLER, next, at('m-43'));
  for (const version of [next, 0n])
    await expect(moveCheckpoint(pool, POLICIES_HANDLER, version, at('m-9'))).rejects.toMatchObject({
      name: 'CheckpointMoved',
    });
  expect(await stored()).toMatchObject({ position: 'm-43' });
});

const stored = () => loadCheckpoint(pool, POLICIES_HANDLER);

/** Locks of a process that is taken for dead while it hangs. */
class TestLocks implements Locks {
  private isDead = false;
  private listener: () => void = () => undefined;

  onLost(listener: () => void): void {
    this.listener = listener;
  }

  take(names: readonly string[]): Promise<readonly string[]> {
    return Promise.resolve(this.isDead ? [] : names);
  }

  release(): void {
    this.lose();
  }

  lose(): void {
    this.isDead = true;
    this.listener();
  }
}

it('a leader that hung while another one led does not move the checkpoint back', async () => {
  let stands: () => void = () => undefined;
  const standing = new Promise<void>((resolve) => (stands = resolve));
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const locks = new TestLocks();
  const stuck = releases.newer({
    locks,
    carryOut: () => {
      stands();
      return gate;
    },
  });
  await releases.happened('one', OLD_FACT);
  await standing;
  locks.lose();
  const leader = releases.newer();
  const head = await releases.happened('other', OLD_FACT);
  expect(await leader.waitFor(head, 20_000)).toBe(true);
  expect(await stored()).toMatchObject({ position: head });
  goOn();
  await releases.stop(stuck);
  expect(await stored()).toMatchObject({ position: head });
  // A process that does not lead waits for the stored position.
  const reader = releases.newer();
  expect(await reader.waitFor(head, 20_000)).toBe(true);
});

/** A leader on them fails before it reads the log. */
class FailingRows extends PostgresParkedReactions {
  readonly fails = jest.fn<Promise<never>, []>(() => Promise.reject(new Error('away')));

  override tryAllSoon(): Promise<void> {
    return this.fails();
  }
}

it('a leader that has read nothing keeps the event of its checkpoint', async () => {
  await releases.happened('one', OLD_FACT);
  const head = await releases.happened('other', OLD_FACT);
  const first = releases.newer();
  expect(await first.waitFor(head, 20_000)).toBe(true);
  await releases.stop(first);
  const before = await stored();
  expect(before).toMatchObject({ position: head, witness: { position: head } });
  const elsewhere = await openLog();
  // As a command does that this process handles: an event from before the checkpoint.
  for await (const { position } of elsewhere.readStream(streamOf('one')))
    expect(elsewhere.compare(position, head)).toBe(-1);
  const parked = new FailingRows(pool);
  const next = releases.newer({
    log: elsewhere,
    stores: { ...postgresPolicyStores(pool), parked },
  });
  await eventually(() => parked.fails.mock.calls.length > 1);
  await releases.stop(next);
  await elsewhere.close();
  expect(await stored()).toEqual(before);
});
