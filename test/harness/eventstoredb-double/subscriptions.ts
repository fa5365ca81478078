import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { type ServedNode } from './node.js';
import { type OutgoingEvents } from './outgoing-events.js';
import { consumerTooSlow, unknown } from './rpc-errors.js';
import { caughtUp, checkpoint, confirmation, matcherOf } from './wire.js';

/** A server holds so many live events for a client before it gives up on it. */
const LIVE_BUFFER = 32;
const LOOKED_IN_A_TURN = 5_000;
/** A server looks at so many events before it says how far it is. */
const CHECKPOINT_EVERY = 32;

/**
 * Subscribes to the whole log: confirms, sends what is stored, says that it has caught up, and
 * continues with what is stored from then on, until the client leaves.
 */
export async function subscribe(
  node: ServedNode,
  out: OutgoingEvents,
  options: streams.ReadReq.Options,
): Promise<void> {
  const all = options.getAll();
  const visible = (): number => Math.min(node.cluster.visible(), node.store.size);
  const start = all && startOf(node, all, visible());
  if (!all || start === undefined) return out.fail(unknown());
  if (!(await out.send(confirmation(randomUUID())))) return;
  // The position is that of the last event that the client has.
  let index = all.hasPosition() ? start + 1 : start;
  const wanted = matcherOf(options);
  const bell = new Doorbell(node, out);
  let isLive = false;
  for (let looked = 1; !out.over; looked += 1) {
    const { faults, store } = node;
    const waiting = visible() - index;
    const isDropped =
      isLive &&
      waiting > 0 &&
      faults.strike('slow-consumer', out.incoming, ({ burst = 1 }) => waiting >= burst);
    if (isDropped) {
      // A part of the burst is sent, then the error, whatever the client has taken of it.
      for (let sent = 0; sent < LIVE_BUFFER && index < visible(); index += 1) {
        const event = store.at(index);
        if (!event || !wanted(event)) continue;
        out.push(event);
        sent += 1;
      }
      out.fail(consumerTooSlow());
      break;
    }
    const event = index < visible() ? store.at(index) : undefined;
    if (!event) {
      if (!isLive) await out.send(caughtUp());
      isLive = true;
      await bell.rings();
      continue;
    }
    index += 1;
    if (looked % LOOKED_IN_A_TURN === 0) await breathe();
    if (wanted(event) && !(await out.event(event))) break;
    if (options.hasFilter() && looked % CHECKPOINT_EVERY === 0)
      await out.send(checkpoint(event.position));
  }
  bell.close();
}

/** Rings when there is something to look at: a write, or a client that has gone. */
class Doorbell {
  #rung = false;
  #wake: (() => void) | undefined;
  readonly #unsubscribe: () => void;

  constructor(node: ServedNode, out: OutgoingEvents) {
    this.#unsubscribe = node.store.onWrite(() => this.#ring());
    out.onOver(() => this.#ring());
  }

  rings(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#rung) this.#ring();
      this.#rung = false;
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  #ring(): void {
    this.#rung = true;
    // What is stored by one writer in one go is seen as one burst.
    if (this.#wake) setImmediate(this.#wake);
    this.#wake = undefined;
  }
}

/** Where in the log a read of all starts; undefined when no record starts at the position. */
export function startOf(
  node: ServedNode,
  all: streams.ReadReq.Options.AllOptions,
  visible: number,
): number | undefined {
  if (all.hasStart()) return 0;
  const position = all.getPosition();
  if (!position) return visible;
  const index = node.store.indexAt(Number(position.getCommitPosition()));
  return index === undefined ? undefined : Math.min(index, visible);
}
