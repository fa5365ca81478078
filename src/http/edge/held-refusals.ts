import { after } from '../../foundation/world.js';
import { MinuteCounts } from './minute-counts.js';

/** A client that asks again at once does so ten times a second. */
const HELD_MS = 100;
/** Of an address, in the time for which the first of them is held: 200 refusals a second. */
const SENT_TOGETHER = 20;
/** Of an address: the last of them is held for 2 s. */
const HELD_PER_ADDRESS_MAX = 400;
/** Of all addresses, each with its head, of 16 KiB at most. */
const HELD_MAX = 1_024;

/** What becomes of a refusal. */
export interface RefusalToSend {
  readonly send: () => void;
  /** It is not sent now. */
  readonly onHeld: () => void;
  /** It is never sent: its connection is to end. */
  readonly onDropped: () => void;
}

/**
 * What callers are refused whom nobody knows is sent later, once their address was refused much
 * within a minute: a flood that waits for its answers takes a processor otherwise. However many
 * connections and pipelined requests it has, an address has 200 such refusals a second. Known
 * callers behind the same address notice nothing: no connection is read more slowly.
 */
export class HeldRefusals {
  private readonly counts = new MinuteCounts();
  private readonly heldOf = new Map<string, number>();
  private held = 0;

  /** @param perMinute refusals of an address in a minute that are sent at once. */
  constructor(private readonly perMinute: number) {}

  /** Counts a refusal of this address (see `countedAddress`), and sends it now, later or never. */
  take(address: string, { send, onHeld, onDropped }: RefusalToSend): void {
    if (this.counts.add(address).count <= this.perMinute) return send();
    const before = this.heldOf.get(address) ?? 0;
    if (before >= HELD_PER_ADDRESS_MAX || this.held >= HELD_MAX) return onDropped();
    this.count(address, 1);
    onHeld();
    after(HELD_MS * (1 + Math.floor(before / SENT_TOGETHER)), () => {
      this.count(address, -1);
      send();
    });
  }

  private count(address: string, more: 1 | -1): void {
    this.held += more;
    const held = (this.heldOf.get(address) ?? 0) + more;
    if (held === 0) this.heldOf.delete(address);
    else this.heldOf.set(address, held);
  }
}
