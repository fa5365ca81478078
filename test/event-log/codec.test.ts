import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DomainEvent } from '../../src/domain/events.js';
import { personal, type Personal } from '../../src/domain/personal.js';
import { sealValues, subjectsIn } from '../../src/privacy/sealed-values.js';
import { EventCodec } from '../../src/event-log/codec.js';
import { effectiveTimeOf, shownActor, type Envelope } from '../../src/event-log/envelope.js';
import type { NewEvent, RecordedEvent } from '../../src/event-log/event-log.js';
import {
  CURRENT_VERSIONS,
  upcast,
  UnreadableEvent,
  UPCASTERS,
} from '../../src/event-log/event-schemas.js';
import { enterWorldWith } from '../support/clock-of-process.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import { EVENT_EXAMPLES, sampleOf, SAMPLES } from './support/event-examples.js';

const ENVELOPE: Envelope = {
  tenant: 'demo',
  mode: 'live',
  correlationId: 'request-1',
  causationId: 'request-1',
  commandId: '0e000000-0000-5000-8000-000000000005',
  actor: { kind: 'api-key', id: 'live-1' },
  idempotency: { key: 'a keyed hash', fingerprint: 'another one' },
};
const EXAMPLES: readonly DomainEvent[] = Object.values(EVENT_EXAMPLES);
const id = (step: number): string => `0f000000-0000-5000-8000-${String(step).padStart(12, '0')}`;

const recorded = (event: NewEvent, index = 0): RecordedEvent => ({
  ...event,
  stream: 'stream',
  revision: BigInt(index),
  position: `m-${index + 1}`,
  recordedAt: 1_000,
});

async function encode(
  keys: InMemorySubjectKeys,
  ...events: readonly DomainEvent[]
): Promise<RecordedEvent[]> {
  const encoded = await new EventCodec(keys).encode(
    events,
    ENVELOPE,
    events.map((_, step) => id(step)),
  );
  return encoded.map(recorded);
}

test('an imported event counts from the time of its import, whatever the date of its row', async () => {
  const imported = { ref: 'row', row: personal('ann', {}), at: 5_000 };
  const [event] = await encode(new InMemorySubjectKeys(), {
    ...EVENT_EXAMPLES.UserIdentified,
    at: 2_000,
    imported,
  });
  expect(event && effectiveTimeOf(event)).toBe(5_000);
});

/** How often others had their turn while six events were opened that take so long each. */
async function pausesAt(msEach: number): Promise<number> {
  const keys = new InMemorySubjectKeys();
  const page = await encode(keys, ...EXAMPLES.slice(0, 6));
  let now = 0;
  let pauses = 0;
  const leave = enterWorldWith({
    elapsed: () => (now += msEach),
    after: (ms, call) => {
      // The service that the worker shares may rest in the same world: a yielding pause has 0 ms.
      if (ms > 0) {
        const rest = setTimeout(call, ms).unref();
        return () => clearTimeout(rest);
      }
      pauses += 1;
      const others = setImmediate(call);
      return () => clearImmediate(others);
    },
  });
  try {
    const decoded = await new EventCodec(keys).decodeAll(page);
    expect(decoded.map(({ recorded: { id: one } }) => one)).toEqual(page.map(({ id: one }) => one));
    return pauses;
  } finally {
    leave();
  }
}

it('a page that is slow to open yields to other work, and has all its events in order', async () => {
  expect(await pausesAt(5)).toBe(3);
});

it('a page that is opened fast does not yield to other work', async () => {
  expect(await pausesAt(1)).toBe(0);
});

it.each(EXAMPLES)('an event $type comes back as it was, with its envelope', async (event) => {
  const keys = new InMemorySubjectKeys();
  const [stored] = await encode(keys, event);
  expect(stored).toMatchObject({ type: event.type, id: id(0) });
  expect(await new EventCodec(keys).decode(stored ? [stored] : [])).toStrictEqual([
    { event, envelope: ENVELOPE, recorded: stored },
  ]);
});

it('an event has its cause, effective time and version in the metadata, not in the data', async () => {
  const [stored] = await encode(new InMemorySubjectKeys(), EVENT_EXAMPLES.UserBlocked);
  expect(stored?.data).toBe(`{"person":"${EVENT_EXAMPLES.UserBlocked.person}"}`);
  expect(JSON.parse(stored?.metadata ?? '')).toStrictEqual({
    v: 1,
    at: 9,
    tenant: 'demo',
    mode: 'live',
    command: ENVELOPE.commandId,
    actor: { kind: 'api-key', id: 'live-1' },

    $correlationId: 'request-1',
    $causationId: 'request-1',
    key: 'a keyed hash',
    fingerprint: 'another one',
  });
});

it('an event of an older release comes with U+FFFD in the places of NUL and half characters', async () => {
  const { RewardGranted, ProgramApplied } = EVENT_EXAMPLES;
  const odd = (name: string): readonly DomainEvent[] => [
    {
      ...RewardGranted,
      value: { type: 'CREDIT', unit: name, currency: null, assignedCredit: 7 },
      texts: personal(RewardGranted.person, { name, description: null }),
    },
    { ...ProgramApplied, document: { id: 'default', name, [name]: name } },
  ];
  const keys = new InMemorySubjectKeys();
  const stored = await encode(keys, ...odd('a\0\ud800b\u{1F600}'));
  const decoded = await new EventCodec(keys).decodeAll(stored);
  expect(decoded.map(({ event }) => event)).toEqual(odd('a\uFFFD\uFFFDb\u{1F600}'));
});

it('an event without an idempotency key names none', async () => {
  const codec = new EventCodec(new InMemorySubjectKeys());
  const envelope: Envelope = { ...ENVELOPE, mode: null, idempotency: null };
  const [stored] = await codec.encode([EVENT_EXAMPLES.TenantCreated], envelope, [id(0)]);
  expect(JSON.parse(stored?.metadata ?? '')).not.toHaveProperty('key');
  expect(await codec.decode(stored ? [recorded(stored)] : [])).toMatchObject([{ envelope }]);
});

it('an event of a member of staff has the name encrypted in its metadata, bound to the event, and erasable', async () => {
  const keys = new InMemorySubjectKeys();
  const name = personal('sam-in-demo', 'Sam');
  const actor = { kind: 'operator', id: name.subject, channel: 'console', name } as const;
  const envelope: Envelope = { ...ENVELOPE, actor };
  const codec = new EventCodec(keys);
  const { UserBlocked: event } = EVENT_EXAMPLES;
  const stored = (await codec.encode([event, event], envelope, [id(0), id(1)])).map(recorded);
  for (const { metadata } of stored) expect(metadata).not.toContain('Sam"');
  expect(await codec.decode(stored)).toMatchObject([{ envelope }, { envelope }]);
  const [one, other] = stored;
  if (!one || !other) throw new Error('both are needed');
  expect(await codec.decode([{ ...one, metadata: other.metadata }])).toMatchObject([
    { unreadable: 'a personal value cannot be decrypted with its key' },
  ]);
  await keys.destroy([name.subject]);
  const [forgotten] = await codec.decodeAll(stored);
  expect(forgotten?.envelope.actor).toEqual({ ...actor, name: { ...name, value: null } });
  expect(forgotten && shownActor(forgotten.envelope.actor)).toBe('operator:anonymous');
});

it('an event needs its own id', async () => {
  const codec = new EventCodec(new InMemorySubjectKeys());
  await expect(
    codec.encode([EVENT_EXAMPLES.UserBlocked, EVENT_EXAMPLES.UserUnblocked], ENVELOPE, [id(0)]),
  ).rejects.toThrow('without an id');
});

it.each(EXAMPLES.filter((event) => subjectsIn(event).size > 0))(
  'a personal value is not in the stored bytes of $type',
  async (event) => {
    const [stored] = await encode(new InMemorySubjectKeys(), event);
    const bytes = `${stored?.data}${stored?.metadata}`;
    const texts = plainTexts(event);
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) expect(bytes).not.toContain(text);
  },
);

it('a personal value is encrypted differently each time: equal values do not look equal', async () => {
  const keys = new InMemorySubjectKeys();
  const [a, b] = await encode(keys, EVENT_EXAMPLES.UserIdentified, EVENT_EXAMPLES.UserIdentified);
  expect(a?.data).not.toBe(b?.data);
});

it('a personal value is null once its key is destroyed, in every event, and the rest of the event stays', async () => {
  const keys = new InMemorySubjectKeys();
  const stored = await encode(keys, ...EXAMPLES);
  await keys.destroy([...subjectsIn(EXAMPLES)]);
  const decoded = await new EventCodec(keys).decodeAll(stored);
  expect(decoded.map(({ event }) => event)).toStrictEqual(EXAMPLES.map(withoutPersons));
});

it('a personal value whose key is destroyed before the write is lost on purpose, not written in plain', async () => {
  const keys = new InMemorySubjectKeys();
  await keys.destroy([EVENT_EXAMPLES.UserIdentified.person]);
  const [stored] = await encode(keys, EVENT_EXAMPLES.UserIdentified);
  expect(JSON.parse(stored?.data ?? '')).toMatchObject({ profile: { sealed: null } });
});

it('a personal value is null once its key is destroyed, even where an older version stored it in plain', async () => {
  const keys = new InMemorySubjectKeys(true);
  const granted = EVENT_EXAMPLES.RewardGranted;
  const { data = '', metadata = '' } = sampleOf('RewardGranted', 2);
  const stored = recorded({ id: id(0), type: granted.type, data, metadata });
  expect(data).toContain('"name":"Thanks"');
  expect(await new EventCodec(keys).decode([stored])).toMatchObject([
    { event: { texts: granted.texts } },
  ]);
  await keys.destroy([granted.person]);
  expect(await new EventCodec(keys).decode([stored])).toMatchObject([
    { event: { texts: { subject: granted.person, value: null }, value: granted.value } },
  ]);
});

/** Two events of one person, with a value in the same field. */
const twoProfiles = async () => {
  const keys = new InMemorySubjectKeys();
  const identified = EVENT_EXAMPLES.UserIdentified;
  const [one, other] = await encode(keys, identified, identified);
  if (!one || !other) throw new Error('both are needed');
  const sealedIn = ({ data }: RecordedEvent): string =>
    (JSON.parse(data) as { profile: { sealed: string } }).profile.sealed;
  return { codec: new EventCodec(keys), one, other, sealedIn };
};
const unreadable = { unreadable: 'a personal value cannot be decrypted with its key' };

it('the place of a personal value is bound to the event: a value moved to another event of its person is unreadable', async () => {
  const { codec, one, other, sealedIn } = await twoProfiles();
  const moved = one.data.replace(sealedIn(one), sealedIn(other));
  expect(await codec.decode([{ ...one, data: moved }, other])).toMatchObject([
    unreadable,
    { event: EVENT_EXAMPLES.UserIdentified },
  ]);
});

it('the place of a personal value is bound to the field: a value moved to another field of its event is unreadable', async () => {
  const { codec, one } = await twoProfiles();
  const stored = JSON.parse(one.data) as Record<string, unknown>;
  const moved = JSON.stringify({ ...stored, profile: null, elsewhere: stored.profile });
  expect(await codec.decode([{ ...one, data: moved }])).toMatchObject([unreadable]);
});

it('a personal value is read when it was stored without being bound to its place', async () => {
  const keys = new InMemorySubjectKeys();
  const { type: _type, at: _at, ...data } = EVENT_EXAMPLES.UserIdentified;
  const [encoded] = await encode(keys, EVENT_EXAMPLES.UserIdentified);
  if (!encoded) throw new Error('an event is needed');
  const subjects = await keys.load(subjectsIn(data));
  const unbound = { ...encoded, data: JSON.stringify(sealValues(data, subjects)) };
  expect(unbound.data).not.toContain('"2.');
  expect(await new EventCodec(keys).decode([unbound])).toMatchObject([
    { event: EVENT_EXAMPLES.UserIdentified },
  ]);
});

it('the place of a personal value is that of the stored shape: an id that a store spells in capitals is the same event', async () => {
  const { codec, one } = await twoProfiles();
  const shouted = { ...one, id: one.id.toUpperCase() };
  expect(await codec.decode([shouted])).toMatchObject([{ event: EVENT_EXAMPLES.UserIdentified }]);
});

const broken = async (change: (event: RecordedEvent) => Partial<RecordedEvent>) => {
  const keys = new InMemorySubjectKeys();
  const [good] = await encode(keys, EVENT_EXAMPLES.CurrencyChanged);
  if (!good) throw new Error('an event is needed');
  const bad = { ...good, ...change(good) };
  return { codec: new EventCodec(keys), good, bad };
};
const metadata = (v: unknown) => (event: RecordedEvent) => ({
  metadata: JSON.stringify({ ...(JSON.parse(event.metadata) as Record<string, unknown>), v }),
});

it.each<[string, (event: RecordedEvent) => Partial<RecordedEvent>, string]>([
  [
    'of an unknown type',
    () => ({ type: 'CurrencyReplaced' }),
    'events of type CurrencyReplaced are unknown to this version of the service',
  ],
  [
    'named as a built-in member',
    () => ({ type: 'constructor' }),
    'events of type constructor are unknown to this version of the service',
  ],
  [
    'of a newer version',
    metadata(2),
    'CurrencyChanged has schema version 2; this version of the service reads 1 to 1',
  ],
  [
    'of version 0',
    metadata(0),
    'CurrencyChanged has schema version 0; this version of the service reads 1 to 1',
  ],
  [
    'without a version',
    metadata(undefined),
    'CurrencyChanged has schema version undefined; this version of the service reads 1 to 1',
  ],
  ['with broken data', () => ({ data: '{"currency":"secret text' }), 'the stored JSON is broken'],
  ['with broken metadata', () => ({ metadata: '' }), 'the stored JSON is broken'],
])('an event %s says so, and the others are read', async (_, change, unreadable) => {
  const { codec, good, bad } = await broken(change);
  expect(await codec.decode([bad, good])).toStrictEqual([
    { unreadable, recorded: bad },
    { event: EVENT_EXAMPLES.CurrencyChanged, envelope: ENVELOPE, recorded: good },
  ]);
});

it('an event that cannot be read here fails reads that need all events', async () => {
  const { codec, good, bad } = await broken(() => ({ type: 'CurrencyReplaced', revision: 7n }));
  await expect(codec.decodeAll([good, bad])).rejects.toThrow(UnreadableEvent);
  await expect(codec.decodeAll([good, bad])).rejects.toThrow('revision 7 of a stream');
});

const versions = { Renamed: 3, Plain: 1 };
const upcasters = {
  Renamed: [
    (data: Readonly<Record<string, unknown>>) => ({ name: data['title'] }),
    (data: Readonly<Record<string, unknown>>) => ({
      ...data,
      length: String(data['name']).length,
    }),
  ],
};

it('upcasting goes step by step from the version that was stored', () => {
  expect(upcast('Renamed', 1, { title: 'abc' }, { versions, upcasters })).toEqual({
    name: 'abc',
    length: 3,
  });
  expect(upcast('Renamed', 2, { name: 'abc' }, { versions, upcasters })).toEqual({
    name: 'abc',
    length: 3,
  });
  expect(upcast('Renamed', 3, { name: 'abc', length: 9 }, { versions, upcasters })).toEqual({
    name: 'abc',
    length: 9,
  });
  expect(upcast('Plain', 1, { as: 'it is' }, { versions, upcasters })).toEqual({ as: 'it is' });
});

it('upcasting fails for an unknown version', () => {
  for (const version of [0, 4, 1.5, Number.NaN])
    expect(() => upcast('Renamed', version, {}, { versions, upcasters })).toThrow(UnreadableEvent);
  expect(() => upcast('Unknown', 1, {}, { versions, upcasters })).toThrow(UnreadableEvent);
});

it('upcasting has a step for every version but the first', () => {
  for (const [type, version] of Object.entries(CURRENT_VERSIONS))
    expect([type, UPCASTERS[type]?.length ?? 0]).toEqual([type, version - 1]);
});

/**
 * What was stored once is read for ever: a sample of each type and version, as its bytes stood in a
 * log, with what it means. A new type or version gets a file with its `event` alone, to which
 * `WRITE_SAMPLES=1 npx jest test/event-log/codec` adds the bytes. Bytes never change; `event` does
 * with each version of its type, as the new step lifts it.
 */
describe('a stored sample', () => {
  const everybodysKeys = new InMemorySubjectKeys(true);

  beforeAll(async () => {
    if (process.env['WRITE_SAMPLES'] !== '1') return;
    for (const [type, version] of Object.entries(CURRENT_VERSIONS)) {
      const { data, event } = sampleOf(type, version);
      const [stored] = await encode(new InMemorySubjectKeys(), event);
      const sample = stored && { data: stored.data, metadata: stored.metadata, event };
      const path = join(SAMPLES, `${type}.v${version}.json`);
      if (data === undefined) writeFileSync(path, `${JSON.stringify(sample, null, 2)}\n`);
    }
  });

  const versions = Object.entries(CURRENT_VERSIONS).flatMap(([type, current]) =>
    Array.from({ length: current }, (_, index) => ({ type, version: index + 1 })),
  );

  it.each(versions)('of $type, version $version, decodes', async ({ type, version }) => {
    const { data = '', metadata = '', event } = sampleOf(type, version);
    const stored = recorded({ id: id(0), type, data, metadata });
    expect(JSON.parse(metadata)).toMatchObject({ v: version });
    expect(await new EventCodec(everybodysKeys).decode([stored])).toStrictEqual([
      { event, envelope: ENVELOPE, recorded: stored },
    ]);
  });

  it('belongs to a known type and version', () => {
    expect(readdirSync(SAMPLES).sort()).toEqual(
      versions.map(({ type, version }) => `${type}.v${version}.json`).sort(),
    );
  });
});

const isPersonal = (value: object): value is Personal<unknown> =>
  'subject' in value && 'value' in value && Object.keys(value).length === 2;

/** The texts inside personal values that are long enough not to stand anywhere by chance. */
function plainTexts(value: unknown, isInside = false): string[] {
  if (typeof value === 'string') return isInside && value.length >= 4 ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  const inside = isInside || isPersonal(value);
  return Object.entries(value).flatMap(([name, member]) =>
    inside && name === 'subject' ? [] : plainTexts(member, inside),
  );
}

function withoutPersons(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPersons);
  if (typeof value !== 'object' || value === null) return value;
  if (isPersonal(value)) return { subject: value.subject, value: null };
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutPersons(member)]),
  );
}
