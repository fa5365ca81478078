import type { Socket } from 'node:net';
import { countedAddress } from './client-address.js';

/**
 * Caps the connections of an address, an IPv6 /64 being one, so that no address, and no dozen of
 * them, takes up all connections of the server. A trusted proxy has the connections of many clients
 * and no cap.
 */
export class ConnectionsPerAddress {
  /** Of all addresses. */
  size = 0;
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly max: number,
    private readonly isProxy: (address: string) => boolean,
  ) {}

  /** Counts a new connection until it closes. False: its address has as many as it may have. */
  take(socket: Socket): boolean {
    const remote = socket.remoteAddress ?? '';
    const address = countedAddress(remote);
    if ((this.counts.get(address) ?? 0) >= this.max && !this.isProxy(remote)) return false;
    this.count(address, 1);
    socket.once('close', () => this.count(address, -1));
    return true;
  }

  private count(address: string, more: 1 | -1): void {
    const now = (this.counts.get(address) ?? 0) + more;
    this.size += more;
    if (now === 0) this.counts.delete(address);
    else this.counts.set(address, now);
  }
}
