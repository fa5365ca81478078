import type { AccountEvent } from '../../domain/account/account.events.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { StoredMetadata } from '../../event-log/envelope.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import type { AppendPlace } from './account-history.js';

/** The events of an append from one of them on. */
export interface RecordedAppend extends AppendPlace {
  /** The event at the revision `first`. */
  readonly event: RecordedEvent;
  readonly others: readonly RecordedEvent[];
  readonly position: Position;
}

/** A bounded cache of a stream's stored events. */
interface StoredEvents {
  readonly end: { readonly revision: bigint } | undefined;
  storedAt(revision: bigint): RecordedEvent | undefined;
  store(events: readonly RecordedEvent[]): void;
}

/** Most appends have fewer events. */
const FIRST_READ = 32;

/** Finds events of accounts and decrypts their personal values, without caching them. */
export class EventReader {
  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: EventCodec,
  ) {}

  /**
   * Reads the append of an event: all following events of the same command.
   * @param stored of the same stream, up to date.
   * @returns undefined when the log has another event at this revision.
   * @throws {EventLogUnavailable}
   */
  async append(
    stream: string,
    first: bigint,
    { eventId, stored }: { readonly eventId: string; readonly stored: StoredEvents },
  ): Promise<RecordedAppend | undefined> {
    const recorded = storedAppend(stored, first) ?? (await this.eventsOfCommand(stream, first));
    const [event, ...others] = recorded;
    if (event?.id !== eventId || event.revision !== first) return undefined;
    const last = recorded.at(-1) ?? event;
    return { first, last: last.revision, position: last.position, event, others };
  }

  /** Events of the same command from this revision on. */
  private async eventsOfCommand(stream: string, first: bigint): Promise<readonly RecordedEvent[]> {
    const recorded: RecordedEvent[] = [];
    for (const limit of [FIRST_READ, Infinity]) {
      const from = first + BigInt(recorded.length);
      for await (const event of this.log.readStream(stream, { from, limit })) {
        if (recorded[0] && commandOf(event) !== commandOf(recorded[0])) return recorded;
        recorded.push(event);
      }
      if (recorded.length < FIRST_READ) return recorded;
    }
    return recorded;
  }

  /** @throws {UnreadableEvent}, when keys cannot be read. */
  async open(events: readonly RecordedEvent[]): Promise<readonly AccountEvent[]> {
    return (await this.codec.decodeAll(events)).map(({ event }) => event as AccountEvent);
  }

  /** @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read. */
  async at(
    stream: string,
    revision: bigint,
    stored: StoredEvents,
  ): Promise<AccountEvent | undefined> {
    const recorded = stored.storedAt(revision) ?? (await this.read(stream, revision));
    if (recorded === undefined) return undefined;
    stored.store([recorded]);
    const [event] = await this.open([recorded]);
    return event;
  }

  private async read(stream: string, revision: bigint): Promise<RecordedEvent | undefined> {
    for await (const recorded of this.log.readStream(stream, { from: revision, limit: 1 }))
      return recorded.revision === revision ? recorded : undefined;
    return undefined;
  }

  async all(
    stream: string,
    revisions: readonly bigint[],
    stored: StoredEvents,
  ): Promise<readonly AccountEvent[]> {
    const events: AccountEvent[] = [];
    for (const revision of revisions) {
      const event = await this.at(stream, revision, stored);
      if (event) events.push(event);
    }
    return events;
  }
}

/** Undefined: some of its events are not cached. */
function storedAppend(stored: StoredEvents, first: bigint): readonly RecordedEvent[] | undefined {
  const end = stored.end?.revision ?? -1n;
  const events: RecordedEvent[] = [];
  for (let revision = first; revision <= end; revision++) {
    const event = stored.storedAt(revision);
    if (event === undefined) return undefined;
    if (events[0] && commandOf(event) !== commandOf(events[0])) break;
    events.push(event);
  }
  return events.length > 0 ? events : undefined;
}

const commandOf = ({ metadata }: RecordedEvent): string =>
  (JSON.parse(metadata) as StoredMetadata).command;
