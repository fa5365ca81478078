import type { AccountEvent } from '../../src/domain/account/account.events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { ExpectedRevision } from '../../src/event-log/event-log.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { AccountHistories, maskedCodec } from '../../src/webhooks/payloads/account-histories.js';
import { EventReader } from '../../src/webhooks/payloads/event-reader.js';
import type { Announcement } from '../../src/webhooks/payloads/payloads.js';
import {
  accountOpened,
  anAccount,
  credit,
  partyOf,
  referralCodeAssigned,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { encodedEvents } from '../support/encoded-events.js';
import { payloadsOf } from './support/listener.js';

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const names = new KeyedNames(Buffer.alloc(32, 1));
const ACCOUNT = anAccount('acme');
const STREAM = names.accountStream(SCOPE, names.accountRef(SCOPE, 'acme'));

let log: InMemoryEventLog;
let keys: InMemorySubjectKeys;
let codec: EventCodec;
beforeEach(() => {
  log = new InMemoryEventLog();
  keys = new InMemorySubjectKeys();
  codec = new EventCodec(keys);
});

/** Where the events of an append are. */
interface Appended {
  readonly first: bigint;
  readonly ids: readonly string[];
}

const append = (expected: ExpectedRevision, ...events: readonly AccountEvent[]) =>
  appendTo(STREAM, expected, events);

async function appendTo(
  stream: string,
  expected: ExpectedRevision,
  events: readonly AccountEvent[],
): Promise<Appended> {
  const encoded = await encodedEvents(codec, SCOPE, events);
  const result = await log.append(stream, expected, encoded);
  if (result.kind === 'conflict') throw new Error('a conflict');
  return { first: expected === 'no-stream' ? 0n : expected + 1n, ids: encoded.map(({ id }) => id) };
}

const announced = (
  { first, ids }: Appended,
  index: number,
  type: 'user.created' | 'user.reward.balance.changed',
  person: string,
): Announcement => ({
  ...SCOPE,
  stream: STREAM,
  revision: first + BigInt(index),
  eventId: ids[index] ?? '',
  announced: { type, subject: { person } },
});

const identified = (userId: string) => {
  const event = userIdentified(ACCOUNT, userId);
  if (event.type !== 'UserIdentified') throw new Error('not a user');
  return event;
};

test('an event that the log lost is announced no more; the one in its place is', async () => {
  const payloads = payloadsOf({ log, codec, keys, names });
  const [ann, bob] = [identified('ann'), identified('bob')];
  await append('no-stream', accountOpened(ACCOUNT));
  const lost = await append(0n, ann, rewardGranted('r1', partyOf(ACCOUNT, 'ann'), credit(100)));
  const before = announced(lost, 1, 'user.reward.balance.changed', ann.person);
  expect(await payloads.data(before)).toMatchObject({ data: { availableValue: 100 } });
  log.loseTail(1);
  const inPlace = await append(0n, bob, rewardGranted('r2', partyOf(ACCOUNT, 'bob'), credit(7)));
  expect(await payloads.data(before)).toEqual({ kind: 'nothing' });
  const after = announced(inPlace, 1, 'user.reward.balance.changed', bob.person);
  expect(await payloads.data(after)).toMatchObject({
    data: { userId: 'bob', availableValue: 7, resourceVersion: 3 },
  });
});

test('a log that is away is an error, and the next call continues', async () => {
  const payloads = payloadsOf({ log, codec, keys, names });
  const ann = identified('ann');
  await append('no-stream', accountOpened(ACCOUNT));
  const made = announced(await append(0n, ann), 0, 'user.created', ann.person);
  log.away = true;
  await expect(payloads.data(made)).rejects.toThrow('the log is away');
  log.comeBack();
  expect(await payloads.data(made)).toMatchObject({ kind: 'made', data: { id: 'ann' } });
});

test('an append of which the memory has not all events is read from the log', async () => {
  const events = [accountOpened(ACCOUNT), identified('ann'), identified('bob')];
  const { first, ids } = await append('no-stream', ...events);
  const stored = { end: { revision: 2n }, storedAt: () => undefined, store: () => undefined };
  const found = await new EventReader(log, codec).append(STREAM, first, {
    eventId: ids[0] ?? '',
    stored,
  });
  expect(found).toMatchObject({ first: 0n, last: 2n, event: { id: ids[0] } });
});

describe('a history', () => {
  const histories = (bytesMax?: number) =>
    new AccountHistories({ log, codec, masked: maskedCodec(keys), names }, bytesMax);

  /** How many events the calls read. */
  function counted(): { readonly count: number } {
    const read = { count: 0 };
    const { readStream } = log;
    log.readStream = async function* (...of) {
      for await (const event of readStream.apply(log, of)) {
        read.count += 1;
        yield event;
      }
    };
    return read;
  }

  beforeEach(async () => {
    await append('no-stream', accountOpened(ACCOUNT), identified('ann'));
    await append(
      1n,
      referralCodeAssigned(ACCOUNT, 'ann', 'ANNSCODE'),
      rewardGranted('r1', partyOf(ACCOUNT, 'ann'), credit(1)),
    );
  });

  test('that is kept is read on from where it ended', async () => {
    const kept = histories();
    const read = counted();
    await kept.upToDate(STREAM);
    expect(read.count).toBe(4);
    await append(3n, rewardGranted('r2', partyOf(ACCOUNT, 'ann'), credit(1)));
    const history = await kept.upToDate(STREAM);
    expect(read.count).toBe(5);
    expect(history.balanceAfter('cents', { first: 4n, last: 4n }).available).toBe(2);
  });

  test('that is larger than the limit is cached alone, with the same contents', async () => {
    const kept = histories(1);
    const read = counted();
    await kept.upToDate(STREAM);
    const history = await kept.upToDate(STREAM);
    expect(read.count).toBe(4);
    expect(history.balanceAfter('CENTS', { first: 3n, last: 3n }).available).toBe(1);
  });

  test('has the newest events as they are stored: a payload of theirs reads no more', async () => {
    const payloads = payloadsOf({ log, codec, keys, names });
    const ann = identified('ann');
    const reward = rewardGranted('r2', partyOf(ACCOUNT, 'ann'), credit(1));
    const of = announced(await append(3n, reward), 0, 'user.reward.balance.changed', ann.person);
    const made = await payloads.data(of);
    expect(made).toMatchObject({ data: { userId: 'ann', availableValue: 2 } });
    const read = counted();
    expect(await payloads.data(of)).toEqual(made);
    expect(read.count).toBe(0);
    await keys.destroy([ann.person]);
    expect(await payloads.data(of)).toEqual({ kind: 'forgotten' });
    expect(read.count).toBe(0);
  });

  test('grows with every event, and by nothing personal', async () => {
    const history = await histories().upToDate(STREAM);
    const { bytes } = history;
    await append(3n, rewardGranted('r2', partyOf(ACCOUNT, 'ann'), credit(1)));
    const kept = histories();
    expect((await kept.upToDate(STREAM)).bytes).toBeGreaterThan(bytes);
    const held = JSON.stringify(await maskedEvents());
    for (const mark of ['ANNSCODE', 'ann@example.com', '"ann"', 'acme'])
      expect(held).not.toContain(mark);
  });

  async function maskedEvents() {
    const recorded = await log.readAll(undefined, 100);
    return (await maskedCodec(keys).decodeAll(recorded)).map(({ event }) => event);
  }
});
