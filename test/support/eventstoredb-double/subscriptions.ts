import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { matcherOf, type AllFilter } from './all-filter.js';
import { type ServedNode } from './node.js';
import { type OutgoingEvents } from './outgoing-events.js';
import { startOf } from './read-calls.js';
import { consumerTooSlow, streamDeleted, unknown } from './rpc-errors.js';
import { NO_REVISION, TOMBSTONE_REVISION, type StoredEvent } from './stored-event.js';
import { caughtUp, checkpoint, confirmation, filterOf } from './wire.js';

/** A server holds so many live events for a client before it gives up on it. */
const LIVE_BUFFER = 32;
const LOOK_AT_ONCE = 5_000;

/** The position of a subscription, and how it finds the next events. */
interface Source {
  /**
   * The next event to look at, and whether it is to be sent; undefined when there is none by now.
   */
  next(): { readonly event: StoredEvent; readonly wanted: boolean } | undefined;
  /** How many events wait, about. */
  waiting(): number;
  /** Whether there is nothing to subscribe to any more. */
  deletedBefore(): boolean;
  /** Whether "caught up" may be said when nothing waits. */
  canCatchUp(): boolean;
}

/**
 * Confirms, sends what is stored, says that it has caught up, and goes on with what is stored from
 * then on, until the client leaves.
 */
export async function subscribe(
  node: ServedNode,
  out: OutgoingEvents,
  options: streams.ReadReq.Options,
): Promise<void> {
  const all = options.getAll();
  const filter = filterOf(options);
  const source = all
    ? allSource(node, all, filter)
    : streamSource(node, out.incoming.stream ?? '', options.getStream());
  if (!source) return out.fail(unknown());
  if (source.deletedBefore()) return out.fail(streamDeleted(out.incoming.stream ?? ''));
  if (!(await out.send(confirmation(randomUUID())))) return;
  await pump(node, out, source, new Checkpoints(filter));
}

async function pump(
  node: ServedNode,
  out: OutgoingEvents,
  source: Source,
  checkpoints: Checkpoints,
): Promise<void> {
  const bell = new Doorbell(node, out);
  let live = false;
  let looked = 0;
  while (!out.over) {
    if (live && dropSlowConsumer(node, out, source)) break;
    const found = source.next();
    if (!found) {
      if (!live && source.canCatchUp()) {
        live = true;
        checkpoints.goLive();
        await out.send(caughtUp());
      }
      await bell.rings();
      continue;
    }
    looked += 1;
    if (looked % LOOK_AT_ONCE === 0) await breathe();
    if (found.wanted && !(await out.event(found.event))) break;
    if (found.event.revision === TOMBSTONE_REVISION && out.incoming.stream !== '$all')
      out.fail(streamDeleted(found.event.stream));
    const reached = checkpoints.passed(found.event, found.wanted);
    if (reached !== undefined) await out.send(checkpoint(reached));
  }
  bell.close();
}

/**
 * The fault "slow consumer": a part of the burst goes out, then the error, whatever the client has
 * taken of it.
 */
function dropSlowConsumer({ faults }: ServedNode, out: OutgoingEvents, source: Source): boolean {
  const waiting = source.waiting();
  if (
    waiting === 0 ||
    !faults.strike('slow-consumer', out.incoming, ({ burst = 1 }) => waiting >= burst)
  )
    return false;
  for (let sent = 0; sent < LIVE_BUFFER;) {
    const found = source.next();
    if (!found) break;
    if (!found.wanted) continue;
    out.push(found.event);
    sent += 1;
  }
  out.fail(consumerTooSlow());
  return true;
}

function allSource(
  node: ServedNode,
  all: streams.ReadReq.Options.AllOptions,
  filter: AllFilter | undefined,
): Source | undefined {
  const start = startOf(node, all, Math.min(node.cluster.visible(), node.store.size));
  if (start === undefined) return undefined;
  // The position is that of the last event that the client has.
  let index = all.hasPosition() ? start + 1 : start;
  const wanted = matcherOf(filter);
  return {
    next: () => {
      const event = index < node.cluster.visible() ? node.store.at(index) : undefined;
      if (!event) return undefined;
      index += 1;
      return { event, wanted: wanted(event) };
    },
    waiting: () => Math.max(0, Math.min(node.cluster.visible(), node.store.size) - index),
    deletedBefore: () => false,
    canCatchUp: () => true,
  };
}

function streamSource(
  node: ServedNode,
  name: string,
  options: streams.ReadReq.Options.StreamOptions | undefined,
): Source {
  const lastOf = (): number => node.store.lastRevision(name, node.cluster.visible());
  let revision = options?.hasEnd()
    ? lastOf()
    : options?.hasRevision()
      ? Number(options.getRevision())
      : NO_REVISION;
  const fromTheEnd = options?.hasEnd() === true;
  return {
    next: () => {
      const event = node.store.eventAfter(name, revision, node.cluster.visible());
      if (!event) return undefined;
      revision = event.revision;
      return { event, wanted: true };
    },
    waiting: () => Math.max(0, lastOf() - revision),
    // A server looks for the stream again and again until it is there, and only then goes live.
    canCatchUp: () => fromTheEnd || (lastOf() > NO_REVISION && !node.store.isSoftDeleted(name)),
    deletedBefore: () => !fromTheEnd && lastOf() === TOMBSTONE_REVISION,
  };
}

/** The server reads at most so many events at once while a client catches up. */
const PAGE = 32;

/**
 * Counts the events that were looked at, and says when it is time to tell the client how far that
 * was. While catching up that is looked into at the end of each page, and the position is that of
 * the page's last event for the client, or where the page began; later it is every event's.
 */
class Checkpoints {
  readonly #interval: number;
  readonly #window: number;
  #counted = 0;
  #live = false;
  #page = { looked: 0, sent: 0, position: 0 };

  constructor(filter: AllFilter | undefined) {
    this.#window = filter?.window ?? PAGE;
    this.#interval = filter ? filter.checkpointInterval * filter.window : Number.POSITIVE_INFINITY;
  }

  goLive(): void {
    this.#counted += this.#page.looked;
    this.#live = true;
  }

  passed(event: StoredEvent, wanted: boolean): number | undefined {
    if (this.#live) return this.#count(1, event.position);
    const page = this.#page;
    if (wanted || page.looked === 0) page.position = event.position;
    page.looked += 1;
    if (wanted) page.sent += 1;
    if (page.looked < this.#window && page.sent < PAGE) return undefined;
    this.#page = { looked: 0, sent: 0, position: 0 };
    return this.#count(page.looked, page.position);
  }

  #count(looked: number, position: number): number | undefined {
    this.#counted += looked;
    if (this.#counted < this.#interval) return undefined;
    this.#counted %= this.#interval;
    return position;
  }
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
