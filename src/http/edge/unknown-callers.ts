import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { after, elapsed } from '../../foundation/world.js';
import { countedAddress } from './client-address.js';

export interface UnknownLimits {
  /** Requests without valid credentials that an address may have answered in a second. */
  readonly unknownPerSecond: number;
  /** So many at once, after a pause. */
  readonly unknownBurst: number;
}

/** Some 200 bytes each, 4 MiB in all; beyond that the one that asked longest ago is dropped. */
const ADDRESSES_MAX = 20_000;
/** Connections of an address that wait to be read; beyond that the oldest one ends. */
const WAITING_MAX = 64;
const LOOK_EVERY_MS = 20;

interface Address {
  /** Requests that may be answered now; below zero after a burst in one piece. */
  left: number;
  countedAt: number;
  /** Those with a refusal as their newest answer, in the order in which they came. */
  readonly refused: Set<Socket>;
  /** Those without any answer. */
  readonly fresh: Set<Socket>;
}

/**
 * Limits what requests without valid credentials cost the others. Each one is cheap, and any number
 * of them takes a processor. An address that has had too many answered is read more slowly: its
 * connections wait before they are read, but for those whose newest answer went to a known caller.
 * New ones are read first, the newest of them before the others, so that a good client's does not
 * stand behind a flood.
 */
export class UnknownCallers {
  private readonly addresses = new LRUCache<string, Address>({ max: ADDRESSES_MAX });
  private readonly known = new WeakSet<Socket>();
  /** They were read at the cost of one request. */
  private readonly paid = new WeakSet<Socket>();
  private readonly watched = new WeakSet<Socket>();
  private readonly crowded = new Set<Address>();
  private isLooking = false;
  private isOver = false;

  /**
   * @param isProxy whether an address is a trusted proxy's, whose clients have no connections here.
   * @param onEnd called when a connection is ended because too many wait.
   */
  constructor(
    private readonly limits: UnknownLimits,
    private readonly isProxy: (address: string) => boolean,
    private readonly onEnd: () => void,
  ) {}

  /** Call it for every new connection. */
  connected(socket: Socket): void {
    const address = this.addresses.get(nameOf(socket));
    // Node's own start of the reading is queued, and would undo an earlier pause.
    if (address !== undefined)
      process.nextTick(() => {
        if (this.leftOf(address) < 1) this.wait(socket, address, address.fresh);
      });
  }

  /** Whether its address has none left, and nobody known was answered on it. */
  isCrowded(socket: Socket): boolean {
    const address = this.addresses.get(nameOf(socket));
    return (
      address !== undefined &&
      !this.known.has(socket) &&
      this.leftOf(address) < 1 &&
      !this.isProxy(socket.remoteAddress ?? '')
    );
  }

  /** A request was answered, or its client has left. @param isKnown its credentials were valid. */
  answered(socket: Socket, isKnown: boolean): void {
    const isPaid = this.paid.delete(socket);
    if (isKnown) this.known.add(socket);
    else this.known.delete(socket);
    if (isKnown && !isPaid) return;
    const address = this.addressOf(socket);
    if (isKnown) {
      address.left += 1;
      return;
    }
    address.left = this.leftOf(address) - (isPaid ? 0 : 1);
    if (address.left < 1) this.wait(socket, address, address.refused);
  }

  /** The server closes: it would wait for connections that it does not read. */
  close(): void {
    this.isOver = true;
    for (const { refused, fresh } of this.crowded)
      for (const socket of [...refused, ...fresh]) socket.destroy();
  }

  private wait(socket: Socket, address: Address, among: Set<Socket>): void {
    const { refused, fresh } = address;
    if (this.isOver || socket.destroyed || refused.has(socket) || fresh.has(socket)) return;
    if (this.isProxy(socket.remoteAddress ?? '')) return;
    socket.pause();
    among.add(socket);
    if (!this.watched.has(socket))
      socket.once('close', () => {
        fresh.delete(socket);
        refused.delete(socket);
      });
    this.watched.add(socket);
    if (refused.size + fresh.size > WAITING_MAX) this.endOldest(refused.size > 0 ? refused : fresh);
    this.crowded.add(address);
    this.lookSoon();
  }

  private endOldest(waiting: Set<Socket>): void {
    for (const oldest of waiting) {
      waiting.delete(oldest);
      oldest.destroy();
      return this.onEnd();
    }
  }

  private lookSoon(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    after(LOOK_EVERY_MS, () => this.look(), { keepsProcess: false });
  }

  private look(): void {
    this.isLooking = false;
    for (const address of this.crowded) {
      const { refused, fresh } = address;
      const left = Math.floor(Math.max(0, this.leftOf(address)));
      const next = [...[...fresh].reverse(), ...[...refused].reverse()].slice(0, left);
      address.left -= next.length;
      for (const socket of next) {
        if (!fresh.delete(socket)) refused.delete(socket);
        this.paid.add(socket);
        socket.resume();
      }
      if (refused.size + fresh.size === 0) this.crowded.delete(address);
    }
    if (this.crowded.size > 0) this.lookSoon();
  }

  private addressOf(socket: Socket): Address {
    const name = nameOf(socket);
    const known = this.addresses.get(name);
    if (known !== undefined) return known;
    const { unknownBurst: left } = this.limits;
    const begun: Address = { left, countedAt: elapsed(), refused: new Set(), fresh: new Set() };
    this.addresses.set(name, begun);
    return begun;
  }

  private leftOf(address: Address): number {
    const now = elapsed();
    const { unknownPerSecond, unknownBurst } = this.limits;
    const more = ((now - address.countedAt) * unknownPerSecond) / 1_000;
    address.left = Math.min(unknownBurst, address.left + more);
    address.countedAt = now;
    return address.left;
  }
}

const nameOf = (socket: Socket): string => countedAddress(socket.remoteAddress ?? '');
