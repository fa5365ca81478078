import { after, elapsed } from '../../foundation/world.js';

/**
 * The part of the time that sending refusals may take. What the parser and the garbage collector
 * take for them comes to as much again.
 */
const SHARE = 1 / 6;
/**
 * Time for refusals that is kept while there are none, and that they may owe, in milliseconds: the
 * clock also counts what others do on the processor meanwhile.
 */
const KEPT_MS = 5;
const LOOK_EVERY_MS = 5;
/** The client is told to ask again after a second. */
const HELD_MS_MAX = 1_000;
/** Each with its head, of 16 KiB at most, and with what Node reads of a body that nobody reads. */
const HELD_MAX = 2_048;

/** A request that has no room. */
export interface Roomless {
  /** When its head arrived, on the clock of `elapsed`. */
  readonly beganAt: number;
  /** It needs no answer: its client has left, or another answer ended the connection. */
  isOver(): boolean;
  /** There is room for its party, though none for all. */
  hasRoom(): boolean;
  /** Others of its connection wait for their answers. */
  isPipelined(): boolean;
  takeUp(): void;
  refuse(): void;
  /** Ends its connection. */
  drop(): void;
}

/**
 * Sends refusals of a full house within a part of the time. Clients that ask again as soon as they
 * are refused would take all of it otherwise. Beyond it requests are held in the order of their
 * arrival, for a second at most; the oldest one is refused as soon as there is time, or taken up
 * when there is room.
 */
export class PacedRefusals {
  private readonly held = new Set<Roomless>();
  private kept = KEPT_MS;
  private keptAt = elapsed();
  private isTimed = false;

  /** @param room how many more requests may be taken up at the moment. */
  constructor(private readonly room: () => number) {}

  /** Requests that are neither refused nor taken up yet. */
  get waiting(): number {
    return this.held.size;
  }

  /**
   * Refuses it now or later. With too many held a pipelined one loses its connection, which would
   * have a refusal for each of them; for another one the oldest is refused.
   */
  take(request: Roomless): void {
    if (this.held.size >= HELD_MAX) {
      if (request.isPipelined()) return request.drop();
      this.refuseOldest();
    }
    this.held.add(request);
    this.look(this.room());
  }

  /** Refuses all that are held. */
  refuseAll(): void {
    for (const request of this.inOrder()) {
      this.held.delete(request);
      request.refuse();
    }
  }

  private look(room: number): void {
    let left = room;
    for (const request of this.inOrder()) {
      if (left-- > 0) this.takeUp(request);
      else if (this.hasTime() || elapsed() - request.beganAt >= HELD_MS_MAX) this.refuse(request);
      else return this.lookLater();
    }
  }

  private takeUp(request: Roomless): void {
    this.held.delete(request);
    request.takeUp();
  }

  private refuseOldest(): void {
    const [oldest] = this.inOrder();
    if (oldest !== undefined) this.refuse(oldest);
  }

  /** Those that still need an answer, the oldest first. */
  private *inOrder(): Generator<Roomless, void, undefined> {
    for (const request of this.held) {
      if (request.isOver()) this.held.delete(request);
      else yield request;
    }
  }

  private refuse(request: Roomless): void {
    const began = elapsed();
    this.held.delete(request);
    request.refuse();
    this.keptAt = elapsed();
    this.kept = Math.max(-KEPT_MS, this.kept - (this.keptAt - began));
  }

  private hasTime(): boolean {
    const now = elapsed();
    this.kept = Math.min(KEPT_MS, this.kept + (now - this.keptAt) * SHARE);
    this.keptAt = now;
    return this.kept > 0;
  }

  private lookLater(): void {
    if (this.isTimed) return;
    this.isTimed = true;
    const look = (): void => {
      this.isTimed = false;
      // What is taken up counts a moment later: of those with room for their party alone one.
      const room = this.room();
      const [oldest] = this.inOrder();
      this.look(room <= 0 && oldest?.hasRoom() ? 1 : room);
    };
    // The connections of those that are held keep it.
    after(LOOK_EVERY_MS, look, { keepsProcess: false });
  }
}
