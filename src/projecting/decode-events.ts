import type { DomainEvent } from '../domain/events.js';
import type { EventCodec } from '../event-log/codec.js';
import { accountRefOf, isOwnStream } from '../privacy/keyed-names.js';
import type { DecodeEvents } from './projector.js';

// Literals, here and in the envelope: spreading parts took a seventh of the CPU time of a rebuild.
/** Decodes events for projectors and policies; unreadable ones are marked. */
export const decodeAny =
  (codec: EventCodec): DecodeEvents<DomainEvent> =>
  async (recorded) =>
    (await codec.decode(recorded)).map((result) => {
      const { stream, revision, position, recordedAt, id } = result.recorded;
      if (!isOwnStream(stream)) return { undecodable: foreign(stream), stream, revision, position };
      if ('unreadable' in result)
        return { undecodable: result.unreadable, stream, revision, position };
      const { tenant, mode, actor, correlationId, commandId } = result.envelope;
      return {
        event: result.event,
        eventId: id,
        stream,
        revision,
        position,
        recordedAt,
        tenant,
        // A tenant's own events belong to neither mode; no projector handles them.
        mode: mode ?? 'live',
        accountRef: accountRefOf(stream) ?? '',
        actor,
        correlationId,
        commandId,
      };
    });

/** Shows the name only if it cannot contain a person's text. */
const foreign = (stream: string): string =>
  `the stream ${/^[\w.-]{1,80}$/.test(stream) ? stream : 'of its event'} is not of this service but begins like its own: delete it from the store and scavenge, ` +
  'or keep the log apart with EVENT_STORE_NAMESPACE';

/** For projectors: decodes only the types that they handle, all of them events of accounts. */
export const decodeForProjectors = (codec: EventCodec): DecodeEvents =>
  decodeAny(codec) as DecodeEvents;
