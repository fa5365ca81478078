import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type ExpectedRevision, type ProposedEvent, type StoredEvent } from './stored-event.js';

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export const streamNameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  utf8(identifier?.getStreamName_asU8() ?? new Uint8Array());

export function streamIdentifier(name: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(name, 'utf8'));
}

export const expectedRevision = (options: streams.AppendReq.Options): ExpectedRevision =>
  options.hasNoStream() ? 'no_stream' : Number(options.getRevision());

export function proposedFrom(message: streams.AppendReq.ProposedMessage): ProposedEvent {
  const properties = message.getMetadataMap();
  return {
    id: message.getId()?.getString() ?? '',
    type: properties.get('type') ?? '',
    isJson: properties.get('content-type') === 'application/json',
    // Copied, for the message keeps the whole packet that it came in.
    data: Buffer.from(message.getData_asU8()),
    metadata: Buffer.from(message.getCustomMetadata_asU8()),
  };
}

export const confirmation = (id: string): streams.ReadResp =>
  new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id),
  );

export const caughtUp = (): streams.ReadResp =>
  new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp());

export const checkpoint = (position: number): streams.ReadResp =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  );

export const streamNotFound = (name: string): streams.ReadResp =>
  new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(name)),
  );

export const lastStreamPosition = (revision: number): streams.ReadResp =>
  new streams.ReadResp().setLastStreamPosition(String(revision));

/** Which events of the log a reader wants, by the prefixes of their streams. */
export function matcherOf(options: streams.ReadReq.Options): (event: StoredEvent) => boolean {
  const prefixes = options.getFilter()?.getStreamIdentifier()?.getPrefixList();
  return ({ stream }) => prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true;
}
