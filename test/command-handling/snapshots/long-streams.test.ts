// Over 5 s: a property over snapshots taken at any event.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { fold, emptyStream } from '../../../src/command-handling/fold-stream.js';
import { CommandHandling } from '../../../src/command-handling/handle-command.js';
import { SealedSnapshots } from '../../../src/command-handling/snapshots/sealed-snapshots.js';
import type { Folded } from '../../../src/command-handling/stream-cache.js';
import type { AccountEvent } from '../../../src/domain/account/account.events.js';
import {
  evolve,
  initialState,
  type AccountState,
} from '../../../src/domain/account/account.state.js';
import { EventCodec } from '../../../src/event-log/codec.js';
import type { Envelope } from '../../../src/event-log/envelope.js';
import type { ReadStreamOptions, RecordedEvent } from '../../../src/event-log/event-log.js';
import { anyEvents } from '../../properties/support/account-events-of-any-kind.js';
import {
  anAccount,
  accountOpened,
  personOf,
  userIdentified,
} from '../../support/account-events.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../../support/in-memory-subject-keys.js';
import { runs } from '../../support/property-runs.js';
import { KeptSnapshots } from '../support/kept-snapshots.js';

/** What a process reads of a long account: from a snapshot, or from its events alone. */

class CountedLog extends InMemoryEventLog {
  /** Events that somebody read. */
  eventsRead = 0;

  override async *readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncIterable<RecordedEvent> {
    for await (const event of super.readStream(stream, options)) {
      this.eventsRead += 1;
      yield event;
    }
  }
}

const FOLDING = { initialState, evolve };
const STREAM = 'referral-account-live.demo.a';
const LONG = 10;
const acme = anAccount('acme');

let log: CountedLog;
let keys: InMemorySubjectKeys;
let codec: EventCodec;
let rows: KeptSnapshots;
let failures: unknown[];

function begin(): void {
  log = new CountedLog(() => 1_000);
  keys = new InMemorySubjectKeys();
  codec = new EventCodec(keys);
  rows = new KeptSnapshots();
  failures = [];
}
beforeEach(begin);

/** A process that was just started. */
function started(version = 'v1'): CommandHandling<AccountState, AccountEvent> {
  const sealed = new SealedSnapshots({
    rows,
    keys,
    version: () => Promise.resolve(version),
    onFailure: (error) => failures.push(error),
  });
  const limits = { readFrom: 1, writtenAfter: LONG };
  return new CommandHandling(log, codec, { ...FOLDING, snapshots: { sealed, limits } });
}

/** One command's events, each with a key of its own. */
async function append(events: readonly AccountEvent[]): Promise<void> {
  const commandId = randomUUID();
  const envelope: Envelope = {
    tenant: 'demo',
    mode: 'live',
    commandId,
    correlationId: commandId,
    causationId: commandId,
    actor: { kind: 'api-key', id: 'k' },
    idempotency: { key: `key-${commandId}`, fingerprint: 'f' },
  };
  let known: bigint | 'no-stream' = 'no-stream';
  for await (const { revision } of log.readStream(STREAM)) known = revision;
  const ids = events.map(() => randomUUID());
  const appended = await log.append(STREAM, known, await codec.encode(events, envelope, ids));
  expect(appended.kind).toBe('appended');
}

async function appendEach(events: readonly AccountEvent[]): Promise<void> {
  for (const event of events) await append([event]);
}

const someUsers = (count: number, from = 0): readonly AccountEvent[] =>
  Array.from({ length: count }, (_, n) => userIdentified(acme, `u${from + n}`));

async function foldedFromEvents(): Promise<Folded<AccountState>> {
  const recorded: RecordedEvent[] = [];
  for await (const event of log.readStream(STREAM)) recorded.push(event);
  return fold(FOLDING, emptyStream(FOLDING), await codec.decodeAll(recorded));
}

/** Until what a load began in the background is written. */
async function written(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

async function withSnapshot(events = someUsers(LONG)): Promise<void> {
  await appendEach([accountOpened(acme), ...events]);
  await started().load(STREAM);
  await written();
  expect(rows.rows.has(STREAM)).toBe(true);
}

test('a process reads what is behind the snapshot of another one, and has the same state', async () => {
  await withSnapshot();
  await appendEach(someUsers(3, LONG));
  const expected = await foldedFromEvents();
  log.eventsRead = 0;
  const loaded = await started().load(STREAM);
  // The first page; the event of the snapshot and those behind it.
  expect(log.eventsRead).toBe(LONG + 4 + 4);
  expect(loaded).toEqual(expected);
  expect(failures).toEqual([]);
});

test('whatever the events are and wherever the snapshot was taken', async () => {
  await fc.assert(
    fc.asyncProperty(anyEvents, fc.nat(30), async (events, cut) => {
      begin();
      await appendEach([accountOpened(acme), ...someUsers(LONG), ...events.slice(0, cut)]);
      await started().load(STREAM);
      await written();
      expect(rows.rows.size).toBe(1);
      await appendEach(events.slice(cut));
      const { finds } = rows;
      const loaded = await started().load(STREAM);
      expect(rows.finds).toBe(finds + 1);
      expect(loaded).toEqual(await foldedFromEvents());
      expect(failures).toEqual([]);
    }),
    { numRuns: runs(60) },
  );
});

test('a command from before the snapshot is known behind it', async () => {
  await withSnapshot();
  const { handled } = await foldedFromEvents();
  const [commands] = handled.entries();
  const loaded = await started().load(STREAM);
  expect(loaded.handled.size).toBe(LONG + 1);
  for (const { commandId, idempotency } of commands) {
    expect(loaded.handled.find({ commandId, idempotency })).toMatchObject({ commandId });
    const again = { commandId: randomUUID(), idempotency, askedAt: 2_000 };
    expect(loaded.handled.find(again)).toMatchObject({ commandId });
  }
});

test('nobody opens the snapshot of a forgotten person, and the next look drops it', async () => {
  await withSnapshot();
  const before = rows.rows.get(STREAM);
  await keys.destroy([personOf(acme, 'u3')]);
  const loaded = await started().load(STREAM);
  expect(loaded).toEqual(await foldedFromEvents());
  expect(loaded.state).toMatchObject({ status: 'open' });
  await written();
  const after = rows.rows.get(STREAM);
  expect(after?.subjects).not.toContain(personOf(acme, 'u3'));
  expect(before?.subjects).toContain(personOf(acme, 'u3'));
});

test('a log that lost the event of the snapshot is folded, and has not gone back by that', async () => {
  await withSnapshot();
  log.loseTail(LONG - 2);
  const { epoch } = log;
  const loaded = await started().load(STREAM);
  expect(loaded).toEqual({ ...(await foldedFromEvents()), epoch });
  expect(log.epoch).toBe(epoch);
  expect(rows.rows.size).toBe(0);
});

test('changed bytes are not opened, and that is said', async () => {
  await withSnapshot();
  const row = rows.rows.get(STREAM);
  if (!row) throw new Error('no snapshot');
  const sealed = Buffer.from(row.sealed);
  sealed[40] = (sealed[40] ?? 0) ^ 1;
  rows.rows.set(STREAM, { ...row, sealed });
  expect(await started().load(STREAM)).toEqual(await foldedFromEvents());
  expect(failures).toHaveLength(1);
});

test('a snapshot belongs to its stream, its event and its revision', async () => {
  await withSnapshot();
  const row = rows.rows.get(STREAM);
  if (!row) throw new Error('no snapshot');
  rows.rows.set(STREAM, { ...row, revision: row.revision - 1n });
  expect(await started().load(STREAM)).toEqual(await foldedFromEvents());
  expect(failures).toHaveLength(1);
});

test('stores that are away cost the snapshot alone', async () => {
  await withSnapshot();
  rows.find = () => Promise.reject(new Error('away'));
  rows.keep = () => Promise.reject(new Error('away'));
  expect(await started().load(STREAM)).toEqual(await foldedFromEvents());
  await written();
  expect(failures).toHaveLength(2);
});

test('a state that was folded across an erasure is not written down', async () => {
  await appendEach([accountOpened(acme), ...someUsers(LONG)]);
  const process = started();
  rows.find = () => {
    process.forgetSubjects(new Set([personOf(acme, 'u3')]));
    return Promise.resolve(undefined);
  };
  await process.load(STREAM);
  await written();
  expect(rows.rows.size).toBe(0);
});
