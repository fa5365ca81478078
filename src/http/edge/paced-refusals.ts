import { after, elapsed } from '../../foundation/world.js';

/**
 * The part of the time that sending refusals may take. What the parser and the garbage collector
 * take for them comes to as much again.
 */
const SHARE = 1 / 6;
/** Time for refusals that is kept while there are none, in milliseconds. */
const KEPT_MS = 5;
const LOOK_EVERY_MS = 5;
/** Each with its head, of 16 KiB at most, and what of its body had arrived. */
const HELD_MAX = 2_048;

/** A request that has no room. */
export interface Roomless {
  /** Its client has left. */
  isOver(): boolean;
  takeUp(): void;
  refuse(): void;
}

/**
 * Sends refusals of a full house within a part of the time. Clients that ask again as soon as they
 * are refused would take all of it otherwise. Beyond it requests are held in the order of their
 * arrival, and the oldest one is refused as soon as there is time, or taken up when there is room.
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

  /** Refuses it now or later. With too many held the oldest one is refused for it. */
  take(request: Roomless): void {
    this.held.add(request);
    if (this.held.size > HELD_MAX) this.refuseOldest();
    this.look();
  }

  /** Takes up all that are held, whether or not there is room. */
  takeUpAll(): void {
    for (const request of this.held) this.takeUp(request);
  }

  private look(): void {
    let room = this.room();
    for (const request of this.held) {
      if (request.isOver()) this.held.delete(request);
      else if (room-- > 0) this.takeUp(request);
      else if (this.hasTime()) this.refuse(request);
      else return this.lookLater();
    }
  }

  private takeUp(request: Roomless): void {
    this.held.delete(request);
    request.takeUp();
  }

  private refuseOldest(): void {
    for (const oldest of this.held) return this.refuse(oldest);
  }

  private refuse(request: Roomless): void {
    const began = elapsed();
    this.held.delete(request);
    request.refuse();
    this.kept -= elapsed() - began;
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
      this.look();
    };
    // The connections of those that are held keep it.
    after(LOOK_EVERY_MS, look, { keepsProcess: false });
  }
}
