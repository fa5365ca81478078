import { randomUUID } from 'node:crypto';
import type { NewEvent } from '../../src/event-log/event-log.js';
import { replayErasures } from '../../src/stores/erasure-replay.js';
import { newFileKeyId } from '../../src/privacy/file-keys.js';
import { PostgresKeyRows } from '../../src/privacy/key-rows.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { WrappedKeys } from '../../src/privacy/subject-keys.js';
import { useDatabase } from '../support/database.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

const { pool } = useDatabase(2);
beforeEach(() => pool.query('delete from vault.erasures_checked'));

const keysOfProcess = () =>
  new WrappedKeys(new PostgresKeyRows(pool), new FixedSealer(Buffer.alloc(32, 1)));
const anEvent = (type: string, data: object = {}): NewEvent => ({
  id: randomUUID(),
  type,
  data: JSON.stringify(data),
  metadata: '{}',
});
const erasureOf = (person: string) =>
  anEvent('ErasureRequested', { persons: [person], account: null });

async function aPersonWithKey(): Promise<string> {
  const person = randomUUID();
  await keysOfProcess().loadOrCreate([person]);
  return person;
}
const isGone = async (person: string) =>
  (await keysOfProcess().load([person])).get(person) === null;

it('the keys of erasures after the mark are destroyed, and the mark moves after them', async () => {
  const log = new InMemoryEventLog();
  const [gone, stays] = [await aPersonWithKey(), await aPersonWithKey()];
  await log.append('account', 'no-stream', [anEvent('AccountOpened'), erasureOf(gone)]);
  expect(await replayErasures(pool, log, keysOfProcess())).toEqual({ events: 2, destroyed: 1 });
  expect([await isGone(gone), await isGone(stays)]).toEqual([true, false]);
  expect(await replayErasures(pool, log, keysOfProcess())).toEqual({ events: 0, destroyed: 0 });
});

it.each([
  ['an account with its customer', 'ErasureRequested', 'customer'],
  ['a connection that another replaced', 'PaymentProviderConnected', 'ended'],
  ['a connection', 'PaymentProviderDisconnected', 'ended'],
])('the end of %s destroys its keys in a restored vault, too', async (_what, type, member) => {
  const log = new InMemoryEventLog();
  const gone = await aPersonWithKey();
  const data = { persons: [], account: null, [member]: member === 'ended' ? [gone] : gone };
  await log.append('stream', 'no-stream', [anEvent(type, data)]);
  expect(await replayErasures(pool, log, keysOfProcess())).toEqual({ events: 1, destroyed: 1 });
  expect(await isGone(gone)).toBe(true);
});

it('a mark beyond the end of the log belongs to a log that was restored: all of it is checked again', async () => {
  const before = new InMemoryEventLog();
  await before.append(
    'account',
    'no-stream',
    Array.from({ length: 9 }, () => anEvent('AccountOpened')),
  );
  await replayErasures(pool, before, keysOfProcess());
  const restored = new InMemoryEventLog();
  const gone = await aPersonWithKey();
  await restored.append('account', 'no-stream', [anEvent('AccountOpened'), erasureOf(gone)]);
  expect(await restored.id()).toBe(await before.id());
  expect(await replayErasures(pool, restored, keysOfProcess())).toEqual({
    events: 2,
    destroyed: 1,
  });
  expect(await isGone(gone)).toBe(true);
});

const aFile = async (state: string, attempt: string): Promise<string> => {
  await pool.query(
    `insert into ledger.export_files (export_id, tenant, mode, state, attempt)
       values (gen_random_uuid(), 't', gen_random_uuid()::text, $1, $2)`,
    [state, attempt],
  );
  return attempt;
};

it('keys of files are destroyed when no file has them, wherever the mark is, and no other key is', async () => {
  const log = new InMemoryEventLog();
  await log.append('account', 'no-stream', [anEvent('AccountOpened')]);
  await replayErasures(pool, log, keysOfProcess());
  const used = await Promise.all(
    ['RUNNING', 'WRITTEN', 'STORED'].map((state) => aFile(state, newFileKeyId())),
  );
  const unused = [newFileKeyId(), await aFile('GONE', newFileKeyId())];
  const id = newFileKeyId();
  const neighbour = `${id.slice(0, 14)}4${id.slice(15)}`;
  const person = await aPersonWithKey();
  await keysOfProcess().loadOrCreate([...used, ...unused, neighbour]);
  const areGone = (ids: readonly string[]) => Promise.all(ids.map(isGone));

  expect(await replayErasures(pool, log, keysOfProcess())).toEqual({ events: 0, destroyed: 2 });
  expect(await areGone(unused)).toEqual([true, true]);
  expect(await areGone([...used, neighbour, person])).toEqual([false, false, false, false, false]);
  expect(await replayErasures(pool, log, keysOfProcess())).toEqual({ events: 0, destroyed: 0 });
});
