import { type ServerWritableStream, type ServiceError } from '@grpc/grpc-js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { setImmediate as breathe } from 'node:timers/promises';
import { type IncomingCall } from './faults.js';
import { admit, incomingCall, waitFor, type ServedNode } from './node.js';
import { OutgoingEvents } from './outgoing-events.js';
import { streamDeleted, unknown } from './rpc-errors.js';
import { type StoredEvent } from './stored-event.js';
import { startOf, subscribe } from './subscriptions.js';
import { lastStreamPosition, matcherOf, streamNameOf, streamNotFound } from './wire.js';

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>;

/** So many events of the log are looked at before others have their turn. */
const SCAN_AT_ONCE = 20_000;

/** All reads and subscriptions are one method of the protocol. */
export async function read(node: ServedNode, call: ReadCall): Promise<void> {
  const options = call.request.getOptions() ?? new streams.ReadReq.Options();
  const stream = options.hasAll()
    ? '$all'
    : streamNameOf(options.getStream()?.getStreamIdentifier());
  const incoming = incomingCall(
    options.hasSubscription() ? 'subscribe' : 'read',
    call.metadata,
    stream,
  );
  const admission = admit(node, incoming);
  if (admission.kind === 'dropped') return;
  if (admission.kind === 'refused') return void call.emit('error', admission.error);
  const out = new OutgoingEvents(node, call, incoming);
  node.opened(out);
  await waitFor(node.faults.strike('answer-late', incoming));
  if (options.hasFilter()) await waitFor(node.faults.strike('too-slow-scan', incoming));
  if (options.hasSubscription()) return subscribe(node, out, options);
  const error = await pageOf(node, out, options, incoming);
  if (error) out.fail(error);
  else out.end();
}

/** Sends what is asked for; an error is what the read ends with. */
async function pageOf(
  node: ServedNode,
  out: OutgoingEvents,
  options: streams.ReadReq.Options,
  incoming: IncomingCall,
): Promise<ServiceError | undefined> {
  const count = Number(options.getCount());
  const all = options.getAll();
  if (all) return readAll(node, out, options, all, count);
  const direction =
    options.getReadDirection() === streams.ReadReq.Options.ReadDirection.FORWARDS
      ? 'forwards'
      : 'backwards';
  const asked = options.getStream();
  const from = asked?.hasEnd() ? 'end' : Number(asked?.getRevision() ?? '0');
  const stream = incoming.stream ?? '';
  const page = node.store.readStream(stream, {
    direction,
    from,
    count,
    visible: node.cluster.visible(),
  });
  switch (page.kind) {
    case 'stream-not-found':
      await out.send(streamNotFound(stream));
      return undefined;
    case 'stream-deleted':
      return streamDeleted(stream);
    case 'events':
      for (const event of page.events) if (!(await out.event(event))) return undefined;
      // Asked for by clients that know of it.
      if ((options.getControlOption()?.getCompatibility() ?? 0) >= 1)
        await out.send(lastStreamPosition(node.store.lastRevision(stream, node.cluster.visible())));
      return undefined;
  }
}

async function readAll(
  node: ServedNode,
  out: OutgoingEvents,
  options: streams.ReadReq.Options,
  all: streams.ReadReq.Options.AllOptions,
  count: number,
): Promise<ServiceError | undefined> {
  const forwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.FORWARDS;
  const visible = Math.min(node.cluster.visible(), node.store.size);
  const start = startOf(node, all, visible);
  // A position behind the end is a place to read on from, but none to read back from.
  const past = Number(all.getPosition()?.getCommitPosition() ?? 0) > node.store.nextPosition;
  if (start === undefined || (past && !forwards)) return unknown('Unexpected ReadAllResult: Error');
  const wanted = matcherOf(options);
  let left = count;
  let looked = 0;
  // Forwards the event at the position is the first; backwards it is the first that is not sent.
  for (const event of eventsFrom(node, forwards ? start : start - 1, forwards, visible)) {
    looked += 1;
    if (looked % SCAN_AT_ONCE === 0) await breathe();
    if (!wanted(event)) continue;
    if (!(await out.event(event))) return undefined;
    left -= 1;
    if (left <= 0) return undefined;
  }
  return undefined;
}

function* eventsFrom(
  { store }: ServedNode,
  first: number,
  forwards: boolean,
  visible: number,
): Generator<StoredEvent> {
  const step = forwards ? 1 : -1;
  for (let index = first; index >= 0 && index < visible; index += step) {
    const event = store.at(index);
    if (event) yield event;
  }
}
