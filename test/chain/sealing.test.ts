import { ChainSealer } from '../../src/chain/chain-sealer.js';
import { sealsIn } from '../../src/chain/chain-seals.js';
import { EventStoreDbEventLog } from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ACME, ChainedLedger } from '../support/chained-ledger.js';
import { followedAlone } from '../support/followed.js';
import { eventually } from '../support/embedded.js';
import { freshNamespace, startEventStore } from '../support/event-store.js';
import { ErrorLines } from '../support/error-lines.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { copyLog, verifyLedger } from '../support/operations.js';
import { openOnce } from '../support/opened.js';

/** Every sealer computes the same chain, in any steps and from any copy of the log. */

const store = openOnce(startEventStore, 'stop');
const opened: ChainedLedger[] = [];
const open = async (
  options: Parameters<typeof ChainedLedger.open>[0] = {},
): Promise<ChainedLedger> => {
  const ledger = await ChainedLedger.open(options);
  opened.push(ledger);
  return ledger;
};
const inEventStore = (): EventLog =>
  new EventStoreDbEventLog({
    address: store.address,
    owner: 'test',
    namespace: freshNamespace(),
    prefix: 'referral-',
  });
afterEach(async () => {
  for (const ledger of opened.splice(0)) await ledger.close();
});

test('several sealers at the same time make one chain', async () => {
  const ledger = await open({ batchMax: 2 });
  for (let round = 0; round < 5; round++) {
    for (const account of ['a', 'b']) await ledger.happened(account);
    await ledger.append(ledger.names.tenantStream('acme'), [
      { id: crypto.randomUUID(), type: 'T', data: '{}', metadata: '{}' },
    ]);
  }
  const sealed = await Promise.all([1, 2, 3, 4].map(() => ledger.sealing.sealToHead()));
  expect(sealed.reduce((sum, { events }) => sum + events, 0)).toBe(15);
  for (const mode of ['live', 'test'] as const)
    expect(await ledger.verify({ tenant: 'acme', mode })).toMatchObject({ ok: true });
  expect(await ledger.verify()).toMatchObject({ events: 15 });
});

test('a copy of the log in another store has the same digest, and kept digests stay valid for it', async () => {
  const ledger = await (await open()).filled();
  const kept = await ledger.digest();
  const copy = await open({ log: inEventStore() });
  const upTo = (await ledger.log.head()) ?? null;
  await copyLog(ledger.log, copy.log, {
    upTo,
    signal: new AbortController().signal,
    awayMsMax: 20_000,
  });

  const taken = await copy.digest();
  expect(taken).toMatchObject({ digest: kept.digest, events: kept.events });
  expect([taken.log, taken.places]).not.toEqual([kept.log, kept.places]);
  expect(await copy.verify(ACME, kept)).toMatchObject({ ok: true, events: kept.events });
  expect(
    (await copy.verify(ACME, { ...(await ledger.digest(ACME, false)), digest: 'f'.repeat(64) }))
      .firstBroken,
  ).toMatchObject({
    reason: 'outside-digest',
  });
});

test('a log in EventStoreDB is sealed and verified as it grows', async () => {
  const ledger = await (await open({ log: inEventStore(), batchMax: 4 })).filled(2);
  const early = await ledger.digest();
  await ledger.happened('a');
  expect(await ledger.verify(ACME, early)).toMatchObject({ ok: true, events: early.events + 1 });
  // Without its newest seals the checkpoint still shows the sealing.
  await ledger.pool.query('delete from ledger.chain_seals where events > 3');
  expect(await ledger.verify()).toMatchObject({ ok: false, firstBroken: { reason: 'inserted' } });
});

test('a tenant without events has a chain without events', async () => {
  const ledger = await open();
  expect(await ledger.verify()).toMatchObject({ ok: true, events: 0, position: null, seals: 0 });
  await expect(ledger.digest()).rejects.toThrow('has no events in live mode');
});

test('a stopped verification ends and reports its progress', async () => {
  const ledger = await (await open()).filled(1);
  const stopping = new AbortController();
  const said: string[] = [];
  const verified = verifyLedger(ledger, {
    scope: ACME,
    signal: stopping.signal,
    awayMsMax: 10_000,
    onProgress: (phase, events, total) => {
      said.push(`${phase} ${events} ${total}`);
      stopping.abort();
    },
  });
  await expect(verified).rejects.toThrow('stopped before the end');
  expect(said).toEqual(['sealing 10 undefined']);
});

test('one sealer leads, another one takes over, and both report their progress', async () => {
  const ledger = await open({ log: new InMemoryEventLog() });
  const { pool, log, sealing } = ledger;
  const logger = new ErrorLines();
  const sealer = () => {
    const handler = new ChainSealer({ seals: sealsIn(pool), log, sealing, logger, everyMs: 10 });
    const follower = followedAlone(handler, { pool, log });
    return {
      start: () => follower.start(),
      stop: () => follower.stop(),
      status: (now = Date.now()) => handler.status(now, follower),
    };
  };
  const [first, second] = [sealer(), sealer()];
  await ledger.happened('a');
  expect(await first.status(Date.now() + 5_000)).toMatchObject({
    role: 'standby',
    position: null,
    lagEvents: 1,
    lastError: null,
  });
  first.start();
  await eventually(async () => (await first.status()).position === 'm-1');
  second.start();
  expect(await first.status()).toEqual({
    role: 'leader',
    detached: false,
    position: 'm-1',
    lagEvents: 0,
    lagSeconds: 0,
    stillSeconds: 0,
    lastError: null,
  });
  await first.stop();
  await ledger.happened('a');
  await eventually(async () => (await second.status()).position === 'm-2');
  expect(await second.status()).toMatchObject({ role: 'leader' });

  await ledger.pool.query(`update ledger.chain_seals set signature = '\\x00'`);
  await ledger.happened('a');
  await eventually(
    async () =>
      (await second.status()).lastError === '1 chains end in a seal that was not signed here',
  );
  await ledger.happened('a');
  await eventually(async () => (await second.status()).position === 'm-4');
  expect(logger.lines).toEqual([
    { chains: 1, message: 'chains end in a seal that was not signed here' },
  ]);
  await second.stop();
});

test('a sealer stops while the log does not answer', async () => {
  const silent = new InMemoryEventLog();
  let asked = false;
  silent.readAll = () => {
    asked = true;
    return new Promise(() => undefined);
  };
  const ledger = await open({ log: silent });
  await ledger.happened('a');
  const sealer = followedAlone(
    new ChainSealer({
      seals: sealsIn(ledger.pool),
      log: silent,
      sealing: ledger.sealing,
      logger: new ErrorLines(),
    }),
    { pool: ledger.pool, log: silent },
  );
  sealer.start();
  await eventually(() => asked);
  await sealer.stop();
  expect((await ledger.pool.query('select from ledger.chain_seals')).rowCount).toBe(0);
});
