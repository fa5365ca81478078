import { Map } from 'immutable';
import { addNumbers, type NamedNumbers } from '../../domain/account/users/events-seen.js';
import type { NeededEarlierEvents } from '../../domain/need.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import type { EventCodec } from '../../event-log/codec.js';
import { EventLogUnavailable, LogWentBack, type EventLog } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';

/** Reads an account's stream for what its state left out of a person's events. */
export class EarlierEvents {
  constructor(
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly codec: Pick<EventCodec, 'decodeAll'>,
    private readonly names: Pick<KeyedNames, 'accountStream'>,
  ) {}

  /** @throws {EventLogUnavailable} {UnreadableEvent} */
  async of(scope: Scope, account: AccountRef, need: NeededEarlierEvents): Promise<NamedNumbers> {
    try {
      return await this.read(this.names.accountStream(scope, account), need);
    } catch (error) {
      if (error instanceof LogWentBack) throw new EventLogUnavailable(error.message);
      throw error;
    }
  }

  private async read(
    stream: string,
    { person, conditions }: NeededEarlierEvents,
  ): Promise<NamedNumbers> {
    let numbers: NamedNumbers = Map();
    for await (const page of pages(this.log.readStream(stream))) {
      // The stored bytes contain the person's name: events of others are not decrypted.
      const received = page.filter(
        ({ type, data }) => type === 'UserEventReceived' && data.includes(person),
      );
      for (const { event } of await this.codec.decodeAll(received))
        if (
          event.type === 'UserEventReceived' &&
          event.person === person &&
          event.repeated === undefined &&
          event.content.value
        )
          numbers = addNumbers(numbers, event.content.value, conditions);
    }
    return numbers;
  }
}
