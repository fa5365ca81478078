// Over 5 s: whole logs are copied between two stores.
import { randomUUID } from 'node:crypto';
import {
  APPEND_BYTES_MAX,
  appendBytes,
  EventLogUnavailable,
  type EventLog,
  type NewEvent,
} from '../../src/event-log/event-log.js';
import { firstPosition } from '../../src/event-log/first-recorded.js';
import { EventStoreDbEventLog } from '../../src/event-log/eventstoredb/eventstoredb-event-log.js';
import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import { logAt } from '../../src/operations/log/log-address.js';
import { copyDocument, copyEnding } from '../../src/cli/log-copy.operations.js';
import { compareLogs } from '../../src/operations/log/log-comparison.js';
import type { CopyOptions } from '../../src/operations/log/log-copy.js';
import type { LogMoveResult } from '../../src/operations/log/log-move.js';
import { NotDone } from '../../src/operations/outcome.js';
import { openPool } from '../../src/postgres/database.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { freshNamespace, startEventStore } from '../support/event-store.js';
import { readToEnd } from '../event-log/event-log.contract.js';
import { copyLog } from '../support/operations.js';
import { openOnce } from '../support/opened.js';

/** Whole logs from Postgres to EventStoreDB and back, through the port alone. */

const store = openOnce(startEventStore, 'stop');
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function inPostgres(): Promise<{ readonly log: EventLog; readonly database: TestDatabase }> {
  const database = await createTestDatabase();
  undo.push(() => database.drop());
  const log = await PostgresEventLog.open({ url: database.url });
  undo.push(() => log.close());
  return { log, database };
}

function inEventStore(): EventLog {
  const log = new EventStoreDbEventLog({
    address: store.address,
    owner: 'test',
    namespace: freshNamespace(),
    prefix: 'referral-',
  });
  undo.push(() => log.close());
  return log;
}

const event = (text = 'x'): NewEvent => ({
  id: randomUUID(),
  type: 'Ärger.Begun',
  data: ` {"text": ${JSON.stringify(text)}, "big": 123456789012345678901234567890}`,
  metadata: '{"v":1,"dup":1,"dup":2}',
});

/** Streams in turn, runs of one stream, and an append too big to be joined with others. */
async function filled(log: EventLog, rounds = 12): Promise<EventLog> {
  const revisions = new Map<string, bigint>();
  const append = async (stream: string, events: readonly NewEvent[]): Promise<void> => {
    const result = await log.append(stream, revisions.get(stream) ?? 'no-stream', events);
    if (result.kind === 'conflict') throw new Error('a stream is not as expected');
    revisions.set(stream, result.revision);
  };
  for (let round = 0; round < rounds; round++) {
    for (const name of ['a', 'b', 'c'])
      await append(`referral-${name}`, [event(`${name}${round} é😀`)]);
    await append(
      'referral-run',
      Array.from({ length: 40 }, () => event('run')),
    );
    if (round > 0) continue;
    await append('referral-run', [event('y'.repeat(400_000))]);
    await append('referral-run', [event('z'.repeat(600_000))]);
    const largest = event('');
    await append('referral-run', [event('z'.repeat(APPEND_BYTES_MAX - appendBytes([largest])))]);
  }
  return log;
}

/** What has to be the same in a copy. */
const stored = async (log: EventLog) =>
  (await readToEnd(log)).map(
    ({ id, type, data, metadata, stream, revision, recordedAt, ...place }) => ({
      id,
      type,
      data,
      metadata,
      stream,
      revision,
      recordedAt,
      position: firstPosition(place),
    }),
  );

async function copied(source: EventLog, target: EventLog, options: Partial<CopyOptions> = {}) {
  const upTo = (await source.head()) ?? null;
  return copyLog(source, target, {
    upTo,
    signal: new AbortController().signal,
    awayMsMax: 20_000,
    ...options,
  });
}

const compared = async (source: EventLog, target: EventLog) =>
  compareLogs(source, target, {
    upTo: (await source.head()) ?? null,
    signal: new AbortController().signal,
    awayMsMax: 20_000,
    translate: null,
  });

test('a copy there and back is the same byte for byte and in the same order', async () => {
  const source = await filled((await inPostgres()).log, 3);
  const there = inEventStore();
  const back = (await inPostgres()).log;
  const events = await stored(source);

  expect(await copied(source, there)).toEqual({ found: 0, appended: events.length });
  expect(await stored(there)).toEqual(events);
  expect(await copied(there, back)).toEqual({ found: 0, appended: events.length });
  expect(await stored(back)).toEqual(events);
  expect(await compared(source, there)).toMatchObject({
    events: events.length,
    streams: 4,
    differences: [],
    isOrderSame: true,
  });
  expect((await compared(source, there)).digest).toBe((await compared(back, there)).digest);

  // Appends to the copy continue where the source ended.
  expect(await there.append('referral-a', 2n, [event()])).toMatchObject({
    kind: 'appended',
    revision: 3n,
  });
  // Back into the log that was left: what came since is added.
  expect(await copied(there, source)).toEqual({ found: events.length, appended: 1 });
  expect(await stored(source)).toEqual(await stored(there));
});

test('a copy by an earlier release, without origins, is continued, and its other times are reported', async () => {
  const source = await filled((await inPostgres()).log, 1);
  const target = inEventStore();
  const withoutOrigins: EventLog = Object.assign(Object.create(target) as EventLog, {
    append: (...[stream, expected, events]: Parameters<EventLog['append']>) =>
      target.append(
        stream,
        expected,
        events.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
      ),
  });
  const { appended } = await copied(source, withoutOrigins);
  await source.append('referral-new', 'no-stream', [event()]);
  expect(await copied(source, target)).toEqual({ found: appended, appended: 1 });
  expect(await compared(source, target)).toMatchObject({
    differences: [],
    isOrderSame: true,
    otherOrigins: appended,
  });
});

test('a copy of an empty log is empty', async () => {
  const source = (await inPostgres()).log;
  const target = inEventStore();
  expect(await copied(source, target)).toEqual({ found: 0, appended: 0 });
  expect(await compared(source, target)).toMatchObject({
    events: 0,
    streams: 0,
    differences: [],
    isOrderSame: true,
    targetHead: null,
  });
});

test('a stopped copy has copied the first events, and continues after them', async () => {
  const source = await filled((await inPostgres()).log);
  const target = inEventStore();
  const stopping = new AbortController();
  const stop = (events: number): void => (events >= 50 ? stopping.abort() : undefined);
  await expect(
    copied(source, target, { signal: stopping.signal, onProgress: stop }),
  ).rejects.toThrow('stopped before the end');

  const events = await stored(source);
  const begun = await stored(target);
  expect(begun.length).toBeGreaterThanOrEqual(50);
  expect(begun).toEqual(events.slice(0, begun.length));
  expect(begun.length).toBeLessThan(events.length);

  expect(await copied(source, target)).toEqual({
    found: begun.length,
    appended: events.length - begun.length,
  });
  expect(await stored(target)).toEqual(events);
});

test('unreachable logs are waited for, and an append whose answer was lost is recorded once', async () => {
  const source = await filled((await inPostgres()).log, 3);
  const target = inEventStore();
  const troubled = { source: troubledBy(source), target: troubledBy(target) };
  expect(await copied(troubled.source, troubled.target)).toMatchObject({ found: 0 });
  expect(await stored(target)).toEqual(await stored(source));
});

test('a log that stays unreachable ends the copy, which can be continued', async () => {
  const source = await filled((await inPostgres()).log, 2);
  const target = inEventStore();
  let appends = 0;
  const leaving: EventLog = Object.assign(Object.create(target) as EventLog, {
    append: (...args: Parameters<EventLog['append']>) =>
      (appends += 1) > 4 ? Promise.reject(new EventLogUnavailable('away')) : target.append(...args),
  });
  await expect(copied(source, leaving, { awayMsMax: 0 })).rejects.toThrow(EventLogUnavailable);
  const { found } = await copied(source, target);
  expect(found).toBeGreaterThan(0);
  expect(await stored(target)).toEqual(await stored(source));
});

async function refused(source: EventLog, target: EventLog, message: RegExp): Promise<void> {
  const before = await stored(target);
  await expect(copied(source, target)).rejects.toThrow(message);
  expect(await stored(target)).toEqual(before);
}

test('a target is refused, and nothing is written to it, when it has another stream of the ledger', async () => {
  const target = inEventStore();
  await target.append('referral-foreign', 'no-stream', [event()]);
  await refused(
    await filled((await inPostgres()).log, 1),
    target,
    /other streams of this service.*event 1, in referral-foreign/,
  );
});

test('a target is refused, and nothing is written to it, when it has the same events in another order', async () => {
  const source = (await inPostgres()).log;
  const target = inEventStore();
  const [one, two] = [event(), event()];
  for (const [log, order] of [
    [source, ['a', 'b']],
    [target, ['b', 'a']],
  ] as const) {
    for (const name of order)
      await log.append(`referral-${name}`, 'no-stream', [name === 'a' ? one : two]);
  }
  await refused(source, target, /other streams of this service/);
  expect(await compared(source, target)).toMatchObject({ differences: [], isOrderSame: false });
});

test('a target is refused, and nothing is written to it, when another writer appends to it meanwhile', async () => {
  const source = await filled((await inPostgres()).log, 2);
  const target = inEventStore();
  let meanwhile: Promise<unknown> | undefined;
  const onProgress = (): void => {
    meanwhile ??= target.append('referral-b', 'no-stream', [event()]);
  };
  await expect(copied(source, target, { onProgress })).rejects.toThrow(
    /does not take revision 0 of referral-b/,
  );
  await meanwhile;
});

test('a byte that was changed in a store is found, and its stream is named', async () => {
  const source = await filled((await inPostgres()).log, 2);
  const { log: target, database } = await inPostgres();
  await copied(source, target);
  const pool = openPool({ url: database.url, max: 1, applicationName: 'test' });
  undo.push(() => pool.end());
  const change = (column: string, revision: number) =>
    pool.query(
      `update ledger.events set ${column} = ${column} || ' ' where stream = 'referral-b' and revision = $1`,
      [revision],
    );

  expect(await compared(source, target)).toMatchObject({ differences: [] });
  await change('metadata', 0);
  expect(await compared(source, target)).toMatchObject({
    differences: ['referral-b'],
    isOrderSame: true,
  });
  await expect(copied(source, target)).rejects.toThrow(
    /other streams of this service.*in referral-b/,
  );
  await pool.query(`delete from ledger.events where stream = 'referral-c'`);
  expect((await compared(source, target)).differences).toEqual(['referral-b', 'referral-c']);
});

test.each([
  '',
  'x:secret',
  'http://u:secret@h/',
  'esdb://u:secret@h?nonsense=1',
  'esdb://u:secret@',
  'postgresql:secret',
])('a malformed address is refused without being quoted (%#)', (text) => {
  let line = '';
  try {
    logAt('from', text);
  } catch (refused) {
    if (refused instanceof NotDone) line = refused.text((word) => `--${word}`);
  }
  expect(line).toMatch(/^--from [^\n]+$/);
  expect(line).not.toContain('secret');
});

test('the exit code shows the result of a copy', () => {
  const equal = {
    events: 1,
    streams: 1,
    found: 0,
    appended: 1,
    digest: 'd',
    differences: [],
    isOrderSame: true,
    targetHead: null,
  };
  const result: LogMoveResult = {
    ...equal,
    otherOrigins: 0,
    translated: null,
    cameSince: 0,
    isRecorded: false,
  };
  const ending = (changed: Partial<LogMoveResult>, whileRunning = false) =>
    copyEnding(copyDocument({ ...result, ...changed }), whileRunning);
  expect(ending({ differences: ['referral-b'] })).toMatchObject({
    exitCode: 2,
    line: expect.stringContaining('referral-b'),
  });
  expect(ending({ isOrderSame: false })).toMatchObject({ exitCode: 2 });
  expect(ending({ cameSince: 3 })).toMatchObject({
    exitCode: 1,
    line: expect.stringContaining('3 events came'),
  });
  expect(ending({ cameSince: 3 }, true)).toBeUndefined();
  expect(ending({})).toBeUndefined();
});

/** Every third call fails: of the appends one before it is carried out, the next one after. */
function troubledBy(log: EventLog): EventLog {
  let calls = 0;
  const trouble = async <T>(work: () => Promise<T>): Promise<T> => {
    calls += 1;
    if (calls % 6 === 3) await work();
    if (calls % 3 === 0) throw new EventLogUnavailable('away for a moment');
    return work();
  };
  return Object.assign(Object.create(log) as EventLog, {
    append: (...args: Parameters<EventLog['append']>) => trouble(() => log.append(...args)),
    readAll: (...args: Parameters<EventLog['readAll']>) => trouble(() => log.readAll(...args)),
  });
}
