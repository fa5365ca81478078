import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type StoredEvent } from './stored-event.js';
import { streamIdentifier } from './wire.js';

/** An event as a response of a read. */
export function encodedEvent(event: StoredEvent): streams.ReadResp {
  const position = String(event.position);
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(streamIdentifier(event.stream))
    .setStreamRevision(String(event.revision))
    .setPreparePosition(position)
    .setCommitPosition(position)
    .setCustomMetadata(event.metadata)
    .setData(event.data);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    // In steps of 100 ns: past 2^53, but digits can be appended.
    .set('created', `${event.created}0000`)
    .set('content-type', event.isJson ? 'application/json' : 'application/octet-stream');
  return new streams.ReadResp().setEvent(
    new streams.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(position),
  );
}
