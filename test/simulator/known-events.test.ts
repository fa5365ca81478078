import { KnownEventsCodec } from '../../simulator/known-events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { EVENT_EXAMPLES } from '../event-log/support/event-examples.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const envelope = {
  tenant: 'acme',
  mode: 'live',
  correlationId: 'request',
  causationId: 'request',
  commandId: 'command',
  actor: { kind: 'api-key', id: 'key' },
  idempotency: null,
} as const;

async function stored(keys: InMemorySubjectKeys): Promise<RecordedEvent[]> {
  const events = Object.values(EVENT_EXAMPLES);
  const ids = events.map((_, step) => `0f000000-0000-5000-8000-${String(step).padStart(12, '0')}`);
  const encoded = await new EventCodec(keys).encode(events, envelope, ids);
  return encoded.map((event, index) => ({
    ...event,
    stream: 'stream',
    revision: BigInt(index),
    position: `m-${index + 1}`,
    recordedAt: 1_000,
  }));
}

it('reads every event as the codec that ships, and each once for all processes', async () => {
  const keys = new InMemorySubjectKeys();
  const events = await stored(keys);
  const expected = await new EventCodec(keys).decode(events);
  const [one, other] = [new KnownEventsCodec(keys), new KnownEventsCodec(keys)];
  const read = await one.decode(events);
  expect(read).toStrictEqual(expected);
  const again = await other.decode(events);
  expect(again.every((event, index) => event === read[index])).toBe(true);
});

it('another set of keys reads something else', async () => {
  const keys = new InMemorySubjectKeys();
  const events = await stored(keys);
  const withKeys = await new KnownEventsCodec(keys).decode(events);
  const none = new InMemorySubjectKeys();
  const without = await new KnownEventsCodec(none).decode(events);
  expect(without).toStrictEqual(await new EventCodec(none).decode(events));
  expect(without).not.toStrictEqual(withKeys);
  expect(await new KnownEventsCodec(keys).decode(events)).toStrictEqual(withKeys);
});

it('an event that was changed where it is stored is read anew', async () => {
  const keys = new InMemorySubjectKeys();
  const [event] = (await stored(keys)).slice(0, 1);
  if (event === undefined) throw new Error('no example');
  const codec = new KnownEventsCodec(keys);
  await codec.decode([event]);
  expect(await codec.decode([{ ...event, data: '{' }])).toMatchObject([
    { unreadable: 'the stored JSON is broken' },
  ]);
});

it('what processes share nobody changes', async () => {
  const keys = new InMemorySubjectKeys();
  const decoded = await new KnownEventsCodec(keys).decodeAll(await stored(keys));
  for (const { event, envelope: read } of decoded)
    expect([Object.isFrozen(event), Object.isFrozen(read.actor)]).toEqual([true, true]);
});
