import {
  type sendUnaryData,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type IncomingCall } from './faults.js';
import { admit, incomingCall, waitFor, type ServedNode } from './node.js';
import {
  MAX_APPEND_SIZE,
  maximumAppendSizeExceeded,
  requiredMetadataMissing,
  revisionText,
  streamDeleted,
  unavailable,
  unknown,
  wrongExpectedVersion,
} from './rpc-errors.js';
import {
  NO_REVISION,
  type ExpectedRevision,
  type ProposedEvent,
  type WriteOutcome,
} from './stored-event.js';
import { expectedRevision, proposedFrom, streamNameOf, type MessageFault } from './wire.js';

/** How a write is answered; without an answer the call stays open until the client gives it up. */
type Answer<T> = (error: ServiceError | null, response?: T) => void;

/** The write is done; what the client hears of it is up to the faults. */
async function answerWrite(
  node: ServedNode,
  call: IncomingCall,
  answer: () => void,
  fail: (error: ServiceError) => void,
): Promise<void> {
  const lost = node.faults.strike('answer-lost', call);
  if (lost?.how === 'cut') return node.cutConnections();
  if (lost?.how === 'silence') return;
  await waitFor(node.faults.strike('answer-late', call));
  if (lost) return fail(unavailable());
  answer();
}

/** Calls of the unary append: one header, then a message an event. */
export function append(
  node: ServedNode,
  call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
  answer: sendUnaryData<streams.AppendResp>,
): void {
  const events: ProposedEvent[] = [];
  let options: streams.AppendReq.Options | undefined;
  let size = 0;
  let failed = false;
  const fail = (error: ServiceError): void => {
    if (!failed) answer(error);
    failed = true;
  };
  call.on('data', (request: streams.AppendReq) => {
    options ??= request.getOptions();
    const message = request.getProposedMessage();
    if (!message || failed) return;
    const event = proposedFrom(message);
    if (typeof event === 'string') return fail(messageError(event));
    size += event.data.length;
    if (size > MAX_APPEND_SIZE) return fail(maximumAppendSizeExceeded());
    events.push(event);
  });
  call.on('error', () => {
    failed = true;
  });
  call.on('end', () => {
    // A broken connection ends the call like a client that has sent everything, and is reported a
    // moment later: no server takes half an append for a whole one.
    setImmediate(() => {
      if (failed || call.cancelled || !options) return;
      void appendEvents(node, call, options, events, answer);
    });
  });
}

async function appendEvents(
  node: ServedNode,
  call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
  options: streams.AppendReq.Options,
  events: readonly ProposedEvent[],
  answer: Answer<streams.AppendResp>,
): Promise<void> {
  const stream = streamNameOf(options.getStreamIdentifier());
  const incoming = incomingCall('append', call.metadata, stream);
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return answer(admission.error);
  if (stream === '') return answer(unknown());
  const tooLarge = node.faults.strike('append-too-large', incoming);
  if (tooLarge) return answer(maximumAppendSizeExceeded(tooLarge.quote));
  // What was passed on to the leader is carried out, whether or not the client still waits for it.
  await node.cluster.writable();
  if (!node.alive()) return;
  const expected = expectedRevision(options, options.getRevision());
  const outcome = node.store.append(stream, expected, events);
  if (outcome.kind === 'stream-deleted') return answer(streamDeleted(stream));
  await answerWrite(node, incoming, () => answer(null, appendResponse(outcome, expected)), answer);
}

function appendResponse(
  outcome: Exclude<WriteOutcome, { kind: 'stream-deleted' }>,
  expected: ExpectedRevision,
): streams.AppendResp {
  return outcome.kind === 'stored'
    ? new streams.AppendResp().setSuccess(success(outcome.revision, outcome.position))
    : new streams.AppendResp().setWrongExpectedVersion(wrongVersion(expected, outcome.actual));
}

function success(revision: number, position: number | undefined): streams.AppendResp.Success {
  const message = new streams.AppendResp.Success();
  if (revision === NO_REVISION) message.setNoStream(new shared.Empty());
  else message.setCurrentRevision(revisionText(revision));
  if (position === undefined) return message.setNoPosition(new shared.Empty());
  return message.setPosition(
    new streams.AppendResp.Position()
      .setCommitPosition(String(position))
      .setPreparePosition(String(position)),
  );
}

function wrongVersion(
  expected: ExpectedRevision,
  actual: number,
): streams.AppendResp.WrongExpectedVersion {
  const message = new streams.AppendResp.WrongExpectedVersion();
  switch (expected) {
    case 'any':
      message.setExpectedAny(new shared.Empty());
      break;
    case 'no_stream':
      message.setExpectedNoStream(new shared.Empty());
      break;
    case 'stream_exists':
      message.setExpectedStreamExists(new shared.Empty());
      break;
    default:
      message.setExpectedRevision(revisionText(expected));
  }
  return actual === NO_REVISION
    ? message.setCurrentNoStream(new shared.Empty())
    : message.setCurrentRevision(revisionText(actual));
}

function messageError(fault: MessageFault): ServiceError {
  switch (fault) {
    case 'no-type':
      return requiredMetadataMissing('type');
    case 'no-content-type':
      return requiredMetadataMissing('content-type');
    case 'bad-request':
      return unknown();
  }
}

export async function softDelete(
  node: ServedNode,
  call: ServerUnaryCall<streams.DeleteReq, streams.DeleteResp>,
  answer: sendUnaryData<streams.DeleteResp>,
): Promise<void> {
  const options = call.request.getOptions() ?? new streams.DeleteReq.Options();
  const stream = streamNameOf(options.getStreamIdentifier());
  const expected = expectedRevision(options, options.getRevision());
  await deleted(
    node,
    incomingCall('delete', call.metadata, stream),
    stream,
    expected,
    (position, error) => {
      if (error) return answer(error);
      answer(
        null,
        new streams.DeleteResp().setPosition(
          new streams.DeleteResp.Position()
            .setCommitPosition(position)
            .setPreparePosition(position),
        ),
      );
    },
  );
}

export async function tombstone(
  node: ServedNode,
  call: ServerUnaryCall<streams.TombstoneReq, streams.TombstoneResp>,
  answer: sendUnaryData<streams.TombstoneResp>,
): Promise<void> {
  const options = call.request.getOptions() ?? new streams.TombstoneReq.Options();
  const stream = streamNameOf(options.getStreamIdentifier());
  const expected = expectedRevision(options, options.getRevision());
  await deleted(
    node,
    incomingCall('tombstone', call.metadata, stream),
    stream,
    expected,
    (position, error) => {
      if (error) return answer(error);
      answer(
        null,
        new streams.TombstoneResp().setPosition(
          new streams.TombstoneResp.Position()
            .setCommitPosition(position)
            .setPreparePosition(position),
        ),
      );
    },
  );
}

async function deleted(
  node: ServedNode,
  call: IncomingCall,
  stream: string,
  expected: ExpectedRevision,
  answer: (position: string, error?: ServiceError) => void,
): Promise<void> {
  const admission = admit(node, call);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return answer('', admission.error);
  await node.cluster.writable();
  if (!node.alive()) return;
  const outcome =
    call.method === 'delete'
      ? node.store.softDelete(stream, expected)
      : node.store.tombstone(stream, expected);
  switch (outcome.kind) {
    case 'stored':
      return answerWrite(
        node,
        call,
        () => answer(String(outcome.position ?? 0)),
        (error) => answer('', error),
      );
    case 'stream-deleted':
      return answer('', streamDeleted(stream));
    case 'wrong-expected-version':
      return answer('', wrongExpectedVersion('Delete', stream, expected, outcome.actual));
  }
}
