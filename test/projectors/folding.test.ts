import { usersProjector } from '../../projections/users/projector.js';
import { BatchRows } from '../../src/projecting/batch-rows.js';
import { FoldedRows } from '../../src/projecting/generations/folded-rows.js';
import { foldLog, ProjectionFold } from '../../src/projecting/generations/log-fold.js';
import type { LedgerEvent, Projector, Row } from '../../src/projecting/projector.js';
import { accountOpened, anAccount, personOf, userIdentified } from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { TestLedger } from '../support/test-ledger.js';

const ACME = anAccount('acme');
const signal = new AbortController().signal;

async function ledgerWith(...userIds: readonly string[]) {
  const log = new InMemoryEventLog();
  const ledger = new TestLedger(log);
  await ledger.happened(
    ACME,
    accountOpened(ACME),
    ...userIds.map((userId) => userIdentified(ACME, userId)),
  );
  const recorded = await log.readAll(undefined, 100);
  const events = (await ledger.decode(recorded)) as readonly LedgerEvent[];
  return { log, ledger, recorded, events };
}

const users = (rows: Iterable<Row>): unknown[] => [...rows].map(({ user_id: userId }) => userId);

it('a fold of the log ends at its last event, also inside of a page, and continues after it', async () => {
  const { log, ledger, recorded } = await ledgerWith('ann', 'bob', 'cat', 'dan');
  const fold = new ProjectionFold(usersProjector, recorded[2]?.position);
  const options = {
    log,
    decode: ledger.decode,
    folds: [fold],
    knownTypes: usersProjector.handles,
    signal,
  };
  await foldLog(options);
  expect(users(fold.rows.rowsOf('users'))).toStrictEqual(['ann', 'bob']);
  expect(fold.position).toBe(recorded[2]?.position);
  fold.until = await log.head();
  await foldLog(options);
  expect(users(fold.rows.rowsOf('users'))).toStrictEqual(['ann', 'bob', 'cat', 'dan']);
  expect([...fold.rows.rowsOf('user_counts')]).toMatchObject([{ users: 4 }]);
});

/** Fails at Bob, behind his rows. */
const failing: Projector = {
  ...usersProjector,
  apply(event, rows) {
    usersProjector.apply(event, rows);
    if (event.event.type === 'UserIdentified' && event.event.profile.value?.id === 'bob')
      throw new Error('contradiction');
  },
};

it('an event that fails after it has changed rows leaves none of its changes among the rows of a rebuild', async () => {
  const { events } = await ledgerWith('ann', 'bob');
  const rows = new FoldedRows(failing.tables);
  const failures = events.map((event) => rows.attempt(failing, event)?.failed);
  expect(failures).toStrictEqual([undefined, undefined, new Error('contradiction')]);
  expect(users(rows.rowsOf('users'))).toStrictEqual(['ann']);
  expect([...rows.rowsOf('user_counts')]).toMatchObject([{ users: 1 }]);
  expect([...rows.rowsOf('user_accounts')]).toHaveLength(1);
});

it('an event that fails after it has changed rows leaves none of its changes among the rows of a batch', async () => {
  const { events } = await ledgerWith('ann', 'bob');
  const rows = new BatchRows(failing.tables);
  for (const event of events) for (const key of failing.keys(event)) rows.announce(key);
  const failures = events.map((event) => rows.attempt(() => failing.apply(event, rows))?.failed);
  expect(failures).toStrictEqual([undefined, undefined, new Error('contradiction')]);
  expect(rows.get('users', [personOf(ACME, 'bob')])).toBeUndefined();
  expect(rows.get('user_counts', ['demo', 'live'])).toMatchObject({ users: 1 });
});
