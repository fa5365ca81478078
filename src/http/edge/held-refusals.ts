import { after } from '../../foundation/world.js';
import { MinuteCounts } from './minute-counts.js';

/** A client that asks again at once does so ten times a second for each of its connections. */
const HELD_MS = 100;
/** Each with its head, of 16 KiB at most. Beyond it refusals are sent at once. */
const HELD_MAX = 1_024;

/**
 * What callers are refused whom nobody knows is sent a moment later, once their address was refused
 * much within a minute: a flood that waits for its answers takes a processor otherwise. Known
 * callers behind the same address notice nothing: no connection is read more slowly.
 */
export class HeldRefusals {
  private readonly counts = new MinuteCounts();
  private held = 0;

  /** @param perMinute refusals of an address in a minute that are sent at once. */
  constructor(private readonly perMinute: number) {}

  /**
   * Counts a refusal of this address (see `countedAddress`), and sends it now or in a moment.
   * @param onHeld called when it is not sent now.
   */
  send(address: string, send: () => void, onHeld: () => void): void {
    const { count } = this.counts.add(address);
    if (count <= this.perMinute || this.held >= HELD_MAX) return send();
    this.held += 1;
    onHeld();
    after(HELD_MS, () => {
      this.held -= 1;
      send();
    });
  }
}
