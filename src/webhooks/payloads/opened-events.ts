import type { AccountEvent } from '../../domain/account/account.events.js';
import type { EventCodec } from '../../event-log/codec.js';
import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import type { AppendPlace } from './account-history.js';

/** The events of an append from one of them on, with the personal values that can be read. */
export interface OpenedAppend extends AppendPlace {
  /** The events, that of `first` at first. */
  readonly events: readonly AccountEvent[];
  /** Of the last event. */
  readonly position: Position;
}

/** Reads single events of accounts with their personal values; keeps nothing. */
export class OpenedEvents {
  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: EventCodec,
  ) {}

  /**
   * @returns undefined when the log does not have this event at this revision.
   * @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read.
   */
  async append(stream: string, first: bigint, eventId: string): Promise<OpenedAppend | undefined> {
    const recorded: RecordedEvent[] = [];
    let command: string | undefined;
    for await (const event of this.log.readStream(stream, { from: first })) {
      const { command: of } = JSON.parse(event.metadata) as { readonly command: string };
      command ??= of;
      if (of !== command) break;
      recorded.push(event);
    }
    const last = recorded.at(-1);
    if (recorded[0]?.id !== eventId || recorded[0].revision !== first || !last) return undefined;
    const events = (await this.codec.decodeAll(recorded)).map(({ event }) => event as AccountEvent);
    return { first, last: last.revision, position: last.position, events };
  }

  /** @throws {EventLogUnavailable} {UnreadableEvent}, when keys cannot be read. */
  async at(stream: string, revision: bigint): Promise<AccountEvent | undefined> {
    for await (const recorded of this.log.readStream(stream, { from: revision })) {
      if (recorded.revision !== revision) return undefined;
      const [decoded] = await this.codec.decodeAll([recorded]);
      return decoded?.event as AccountEvent | undefined;
    }
    return undefined;
  }

  /** In the order of the stream. */
  async all(stream: string, revisions: readonly bigint[]): Promise<readonly AccountEvent[]> {
    const events: AccountEvent[] = [];
    for (const revision of revisions) {
      const event = await this.at(stream, revision);
      if (event) events.push(event);
    }
    return events;
  }
}
