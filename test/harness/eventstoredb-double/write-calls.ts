import { type sendUnaryData, type ServerReadableStream, type ServiceError } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { type IncomingCall } from './faults.js';
import { admit, incomingCall, waitFor, type ServedNode } from './node.js';
import { maximumAppendSizeExceeded, streamDeleted, unavailable } from './rpc-errors.js';
import {
  NO_REVISION,
  type ExpectedRevision,
  type ProposedEvent,
  type WriteOutcome,
} from './stored-event.js';
import { expectedRevision, proposedFrom, streamNameOf } from './wire.js';

export type AppendCall = ServerReadableStream<streams.AppendReq, streams.AppendResp>;
export type AppendAnswer = sendUnaryData<streams.AppendResp>;

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
export function append(node: ServedNode, call: AppendCall, answer: AppendAnswer): void {
  const events: ProposedEvent[] = [];
  let options: streams.AppendReq.Options | undefined;
  let failed = false;
  call.on('data', (request: streams.AppendReq) => {
    options ??= request.getOptions();
    const message = request.getProposedMessage();
    if (message) events.push(proposedFrom(message));
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
  call: AppendCall,
  options: streams.AppendReq.Options,
  events: readonly ProposedEvent[],
  answer: Answer<streams.AppendResp>,
): Promise<void> {
  const stream = streamNameOf(options.getStreamIdentifier());
  const incoming = incomingCall('append', call.metadata, stream);
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return answer(admission.error);
  const tooLarge = node.faults.strike('append-too-large', incoming);
  if (tooLarge) return answer(maximumAppendSizeExceeded(tooLarge.quote));
  // What was passed on to the leader is carried out, whether or not the client still waits for it.
  await node.cluster.writable();
  if (!node.alive()) return;
  const expected = expectedRevision(options);
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

function success(revision: number, position: number): streams.AppendResp.Success {
  return new streams.AppendResp.Success()
    .setCurrentRevision(String(revision))
    .setPosition(
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
  if (expected === 'no_stream') message.setExpectedNoStream(new shared.Empty());
  else message.setExpectedRevision(String(expected));
  return actual === NO_REVISION
    ? message.setCurrentNoStream(new shared.Empty())
    : message.setCurrentRevision(String(actual));
}
