import type { DomainEvent } from '../domain/events.js';
import type { SubjectId } from '../domain/personal.js';
import { pause } from '../foundation/pause.js';
import { elapsed } from '../foundation/world.js';
import {
  recordPlaces,
  openAt,
  sealValues,
  storedPlaces,
  subjectsIn,
  type StoredPlace,
} from '../privacy/sealed-values.js';
import type { SubjectKeys } from '../privacy/subject-keys.js';
import { fromMetadata, toMetadata, type Envelope, type StoredMetadata } from './envelope.js';
import type { NewEvent, RecordedEvent } from './event-log.js';
import { CURRENT_VERSIONS, UnreadableEvent, upcast, type EventData } from './event-schemas.js';
import { storableJson } from '../foundation/outside-text.js';

/** Opening 2 MiB of fields takes a tenth of a second: other work runs in between. */
const SLICE_MS = 10;

export interface Decoded {
  readonly event: DomainEvent;
  readonly envelope: Envelope;
  readonly recorded: RecordedEvent;
}

/** Converts facts in memory to bytes in the log: versions, envelope, encryption. */
export class EventCodec {
  constructor(private readonly keys: SubjectKeys) {}

  /** @param ids one per event, in order. Creates the keys of new people before it returns. */
  async encode(
    events: readonly DomainEvent[],
    envelope: Envelope,
    ids: readonly string[],
  ): Promise<NewEvent[]> {
    const { name } = envelope.actor;
    const subjects = subjectsIn([events, name]);
    const keys =
      subjects.size > 0 ? await this.keys.loadOrCreate(subjects) : new Map<string, Buffer>();
    return events.map((event, step) => {
      const { type, at, ...data } = event;
      const id = ids[step];
      if (id === undefined) throw new Error('an event without an id');
      const metadata = toMetadata(envelope, CURRENT_VERSIONS[type], at);
      return {
        id,
        type,
        data: JSON.stringify(sealValues(data, keys, holderOf(id))),
        metadata: JSON.stringify(name ? sealValues(metadata, keys, holderOf(id)) : metadata),
      };
    });
  }

  /** One result per event, in order. Never throws for a single event. */
  async decode(recorded: readonly RecordedEvent[]): Promise<(Decoded | Unreadable)[]> {
    const parsed = recorded.map((event) => this.parse(event));
    const subjects = new Set<string>();
    for (const result of parsed) {
      if ('unreadable' in result) continue;
      for (const { stored } of result.places) subjects.add(stored.subject);
      // The erasure's announcement may not have reached this process: its old keys must not open
      // later events.
      const erased = erasedSubjects(result.recorded.type, result.data);
      if (erased.length > 0) this.keys.forget(erased);
    }
    const keys = subjects.size > 0 ? await this.keys.load(subjects) : new Map<string, Buffer>();
    const opened: (Decoded | Unreadable)[] = [];
    let began = elapsed();
    for (const result of parsed) {
      if (elapsed() - began >= SLICE_MS) {
        await pause(0);
        began = elapsed();
      }
      opened.push('unreadable' in result ? result : this.open(result, keys));
    }
    return opened;
  }

  protected parse(recorded: RecordedEvent): Parsed | Unreadable {
    return parse(recorded);
  }

  protected open(parsed: Parsed, keys: ReadonlyMap<string, Buffer | null>): Decoded | Unreadable {
    return open(parsed, keys);
  }

  /** @throws {UnreadableEvent} for the first unreadable event: a decision needs the whole state. */
  async decodeAll(recorded: readonly RecordedEvent[]): Promise<Decoded[]> {
    return (await this.decode(recorded)).map((result) => {
      if ('unreadable' in result)
        throw new UnreadableEvent(
          `revision ${result.recorded.revision} of a stream: ${result.unreadable}`,
        );
      return result;
    });
  }
}

function open(
  { data, metadata, places, recorded }: Parsed,
  keys: ReadonlyMap<string, Buffer | null>,
): Decoded | Unreadable {
  try {
    openAt(places, keys);
    const event = { type: recorded.type, at: metadata.at, ...data } as unknown as DomainEvent;
    return { event, envelope: fromMetadata(metadata), recorded };
  } catch {
    return { unreadable: 'a personal value cannot be decrypted with its key', recorded };
  }
}

/** The subjects whose keys an event erases or has erased; from its stored data. */
export function erasedSubjects(
  type: string,
  { persons, account, customer, ended }: EventData,
): readonly SubjectId[] {
  if (type === 'PaymentProviderConnected' || type === 'PaymentProviderDisconnected')
    return textsIn(ended);
  if (type !== 'ErasureRequested' && type !== 'ErasureCompleted') return [];
  return [...textsIn(persons), ...textsIn([account, customer])];
}

export const erasesKeys = (type: string): boolean =>
  type.startsWith('Erasure') || type.startsWith('PaymentProvider');

const textsIn = (values: unknown): readonly string[] =>
  Array.isArray(values)
    ? (values as unknown[]).filter((value): value is string => typeof value === 'string')
    : [];

/** Stores spell ids in different cases. */
const holderOf = (eventId: string): string => eventId.toLowerCase();

/** Values are decrypted in place: data and metadata are not shared. */
export interface Parsed {
  readonly data: EventData;
  readonly places: readonly StoredPlace[];
  readonly metadata: StoredMetadata;
  readonly recorded: RecordedEvent;
}

export interface Unreadable {
  readonly unreadable: string;
  readonly recorded: RecordedEvent;
}

function parse(recorded: RecordedEvent): Parsed | Unreadable {
  try {
    const metadata = JSON.parse(storableJson(recorded.metadata)) as StoredMetadata;
    const stored = JSON.parse(storableJson(recorded.data)) as EventData;
    recordPlaces(stored, holderOf(recorded.id));
    const data = upcast(recorded.type, metadata.v, stored);
    const places = storedPlaces(data);
    // Other metadata has no personal value, and a walk of it would cost every read.
    if (metadata.actor.name !== undefined) {
      recordPlaces(metadata, holderOf(recorded.id));
      storedPlaces(metadata, places);
    }
    return { data, places, metadata, recorded };
  } catch (error) {
    // A parser's message may quote the bytes, so only this module's messages pass.
    return {
      unreadable: error instanceof UnreadableEvent ? error.message : 'the stored JSON is broken',
      recorded,
    };
  }
}
