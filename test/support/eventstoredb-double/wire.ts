import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type AllFilter } from './all-filter.js';
import { type ExpectedRevision, type ProposedEvent } from './stored-event.js';

/** How many events a step of a filtered scan looks at when the client does not say. */
const DEFAULT_WINDOW = 32;

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

export const streamNameOf = (identifier: shared.StreamIdentifier | undefined): string =>
  utf8(identifier?.getStreamName_asU8() ?? new Uint8Array());

export function streamIdentifier(name: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(name, 'utf8'));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The id as text, lower case; undefined when it is no UUID. */
function uuidText(id: shared.UUID | undefined): string | undefined {
  const structured = id?.getStructured();
  if (structured) {
    const bits = [structured.getMostSignificantBits(), structured.getLeastSignificantBits()];
    const hex = bits
      .map((half) => BigInt.asUintN(64, BigInt(half)).toString(16).padStart(16, '0'))
      .join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
  const text = id?.getString() ?? '';
  return UUID.test(text) ? text.toLowerCase() : undefined;
}

/** The four ways to say what is expected of a stream; append, delete and tombstone share them. */
interface RevisionOptions {
  hasAny(): boolean;
  hasNoStream(): boolean;
  hasStreamExists(): boolean;
}

export function expectedRevision(options: RevisionOptions, revision: string): ExpectedRevision {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no_stream';
  return options.hasStreamExists() ? 'stream_exists' : Number(revision);
}

/** Why a proposed message is none. */
export type MessageFault = 'no-type' | 'no-content-type' | 'bad-request';

export function proposedFrom(
  message: streams.AppendReq.ProposedMessage,
): ProposedEvent | MessageFault {
  const properties = message.getMetadataMap();
  const type = properties.get('type');
  const contentType = properties.get('content-type');
  const id = uuidText(message.getId());
  if (type === undefined) return 'no-type';
  if (contentType === undefined) return 'no-content-type';
  if (id === undefined || type === '') return 'bad-request';
  return {
    id,
    type,
    isJson: contentType === 'application/json',
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

export function filterOf(options: streams.ReadReq.Options): AllFilter | undefined {
  const filter = options.getFilter();
  if (!filter) return undefined;
  const onStream = filter.getStreamIdentifier();
  const expression = onStream ?? filter.getEventType();
  return {
    on: onStream ? 'stream' : 'type',
    regex: expression?.getRegex() ?? '',
    prefixes: expression?.getPrefixList() ?? [],
    window: filter.getMax() || DEFAULT_WINDOW,
    checkpointInterval: filter.getCheckpointintervalmultiplier(),
  };
}
