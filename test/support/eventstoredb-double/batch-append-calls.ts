import { status, type ServerDuplexStream } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import rpcStatus from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import anyMessage from 'google-protobuf/google/protobuf/any_pb.js';
import emptyMessage from 'google-protobuf/google/protobuf/empty_pb.js';
import { type IncomingCall } from './faults.js';
import { admit, incomingCall, waitFor, type ServedNode } from './node.js';
import { MAX_APPEND_SIZE, revisionText, SERVER_NOT_READY, unavailable } from './rpc-errors.js';
import {
  NO_REVISION,
  type ExpectedRevision,
  type ProposedEvent,
  type WriteOutcome,
} from './stored-event.js';
import {
  expectedRevision,
  proposedFrom,
  streamIdentifier,
  streamNameOf,
  uuidText,
} from './wire.js';

type BatchCall = ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>;

/** An append whose parts are still coming in. */
interface PendingAppend {
  readonly correlationId: shared.UUID;
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: ProposedEvent[];
  size: number;
}

/**
 * One stream of many appends, each with its own answer; they overtake one another only when a fault
 * says so.
 */
export function batchAppend(node: ServedNode, call: BatchCall): void {
  const pending = new Map<string, PendingAppend>();
  call.on('data', (request: streams.BatchAppendReq) => {
    const id = uuidText(request.getCorrelationId());
    const correlationId = request.getCorrelationId();
    if (id === undefined || !correlationId) return;
    const options = request.getOptions();
    if (options) pending.set(id, started(correlationId, options));
    const batch = pending.get(id);
    if (!batch) return;
    const refusal = addTo(batch, request.getProposedMessagesList());
    if (refusal) {
      pending.delete(id);
      return respond(call, batch, refusal);
    }
    if (!request.getIsFinal()) return;
    pending.delete(id);
    void carryOut(node, call, batch);
  });
  call.on('error', () => pending.clear());
  call.on('end', () => call.end());
}

function started(
  correlationId: shared.UUID,
  options: streams.BatchAppendReq.Options,
): PendingAppend {
  const stream = streamNameOf(options.getStreamIdentifier());
  return {
    correlationId,
    stream,
    expected: expectedRevision(options, options.getStreamPosition()),
    events: [],
    size: 0,
  };
}

/** Takes the events in; what it returns is why the append comes to nothing. */
function addTo(
  batch: PendingAppend,
  messages: readonly streams.BatchAppendReq.ProposedMessage[],
): streams.BatchAppendResp | undefined {
  if (batch.stream === '') return failure('BadRequest', new shared.BadRequest().serializeBinary());
  for (const message of messages) {
    const event = proposedFrom(message);
    if (typeof event === 'string')
      return failure('BadRequest', new shared.BadRequest().serializeBinary());
    batch.events.push(event);
    batch.size += event.data.length;
  }
  if (batch.size <= MAX_APPEND_SIZE) return undefined;
  return failure(
    'MaximumAppendSizeExceeded',
    new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_SIZE).serializeBinary(),
  );
}

async function carryOut(node: ServedNode, call: BatchCall, batch: PendingAppend): Promise<void> {
  const incoming: IncomingCall = incomingCall('batchAppend', call.metadata, batch.stream);
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') {
    if (admission.error.details === SERVER_NOT_READY) return respond(call, batch, notReady());
    if (admission.error.code === status.PERMISSION_DENIED)
      return respond(call, batch, accessDenied());
    // Anything else is the end of the stream, and of all appends on it.
    return void call.emit('error', admission.error);
  }
  await node.cluster.writable();
  if (!node.alive() || call.cancelled) return;
  const outcome = node.store.append(batch.stream, batch.expected, batch.events);
  const lost = outcome.kind === 'stored' ? node.faults.strike('answer-lost', incoming) : undefined;
  if (lost?.how === 'cut') return node.cutConnections();
  if (lost?.how === 'silence') return;
  await waitFor(node.faults.strike('answer-late', incoming));
  if (lost) return void call.emit('error', unavailable());
  respond(call, batch, responseTo(outcome, batch));
}

function respond(call: BatchCall, batch: PendingAppend, response: streams.BatchAppendResp): void {
  if (call.cancelled) return;
  call.write(
    response
      .setCorrelationId(batch.correlationId)
      .setStreamIdentifier(streamIdentifier(batch.stream)),
  );
}

function responseTo(outcome: WriteOutcome, batch: PendingAppend): streams.BatchAppendResp {
  switch (outcome.kind) {
    case 'stored':
      return new streams.BatchAppendResp().setSuccess(success(outcome.revision, outcome.position));
    case 'stream-deleted':
      return failure(
        'StreamDeleted',
        new shared.StreamDeleted()
          .setStreamIdentifier(streamIdentifier(batch.stream))
          .serializeBinary(),
      );
    case 'wrong-expected-version':
      return failure(
        'WrongExpectedVersion',
        wrongVersion(batch.expected, outcome.actual).serializeBinary(),
      );
  }
}

function success(revision: number, position: number | undefined): streams.BatchAppendResp.Success {
  const message = new streams.BatchAppendResp.Success();
  if (revision === NO_REVISION) message.setNoStream(new emptyMessage.Empty());
  else message.setCurrentRevision(revisionText(revision));
  if (position === undefined) return message.setNoPosition(new emptyMessage.Empty());
  return message.setPosition(
    new shared.AllStreamPosition()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  );
}

function wrongVersion(expected: ExpectedRevision, actual: number): shared.WrongExpectedVersion {
  const message = new shared.WrongExpectedVersion();
  switch (expected) {
    case 'any':
      message.setExpectedAny(new emptyMessage.Empty());
      break;
    case 'no_stream':
      message.setExpectedNoStream(new emptyMessage.Empty());
      break;
    case 'stream_exists':
      message.setExpectedStreamExists(new emptyMessage.Empty());
      break;
    default:
      message.setExpectedStreamPosition(revisionText(expected));
  }
  return actual === NO_REVISION
    ? message.setCurrentNoStream(new emptyMessage.Empty())
    : message.setCurrentStreamRevision(revisionText(actual));
}

/** The client knows the kind of an error by the name of the message that it is packed as. */
function failure(
  name: string,
  packed: Uint8Array,
  packedAs = `event_store.client.${name}`,
): streams.BatchAppendResp {
  const details = new anyMessage.Any();
  details.pack(packed, packedAs);
  return new streams.BatchAppendResp().setError(
    new rpcStatus.Status().setMessage(name).setDetails(details),
  );
}

const accessDenied = (): streams.BatchAppendResp =>
  failure('AccessDenied', new shared.AccessDenied().serializeBinary());
const notReady = (): streams.BatchAppendResp =>
  failure(SERVER_NOT_READY, new emptyMessage.Empty().serializeBinary(), 'google.protobuf.Empty');
