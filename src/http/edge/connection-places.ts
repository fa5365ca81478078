import type { Socket } from 'node:net';
import { countedAddress } from './client-address.js';

export interface PlaceLimits {
  /** Connections of all clients together. */
  readonly connectionsMax: number;
  /** Connections of one address; a trusted proxy has as many as there are. */
  readonly connectionsPerAddressMax: number;
}

/**
 * `idle`: without a request whose head has arrived. `unread`: its answers are made, and the client
 * does not take them. `working`: else.
 */
export type ConnectionWork = 'idle' | 'unread' | 'working';

/**
 * Why the server ended a connection: `unread`, its client took no answer; `replaced`, another
 * client got its place; `turned-away`, there was no place for it; `pipelined`, its client sent too
 * many requests without the answers to earlier ones.
 */
export type EndOfConnection = 'unread' | 'replaced' | 'turned-away' | 'pipelined' | 'refused';

/** The connections of an address by what they do, each set in the order in which that began. */
interface Held {
  readonly isProxy: boolean;
  readonly by: Readonly<Record<ConnectionWork, Set<Socket>>>;
}

interface Place {
  readonly address: string;
  readonly held: Held;
  work: ConnectionWork;
}

/**
 * Connections without a place that are kept to be answered: health as ever, all else 503. The
 * oldest one is closed for the next.
 */
const SPARE_MAX = 64;

const sizeOf = ({ by }: Held): number => by.idle.size + by.unread.size + by.working.size;

/**
 * Gives out places to connections, so that no address, and no dozen of them, keeps others out. An
 * address beyond its limit replaces connections of its own. When all places are taken, a newcomer
 * replaces a connection of the address that holds most: first one without a request, then one whose
 * answer is unread, then any.
 */
export class ConnectionPlaces {
  private readonly addresses = new Map<string, Held>();
  private readonly places = new Map<Socket, Place>();
  private readonly spare = new Set<Socket>();

  constructor(
    private readonly limits: PlaceLimits,
    private readonly isProxy: (address: string) => boolean,
    private readonly onEnd: (why: EndOfConnection) => void,
  ) {}

  /** Connections with a place. */
  get size(): number {
    return this.places.size;
  }

  /** A connection without a place: only health is answered there. */
  isSpare(socket: Socket): boolean {
    return this.spare.has(socket);
  }

  /** Call it for every new connection. */
  take(socket: Socket): void {
    const remote = socket.remoteAddress ?? '';
    const address = countedAddress(remote);
    const held = this.addresses.get(address) ?? this.newHeld(remote);
    if (!this.hasRoomFor(held)) return this.keepSpare(socket);
    this.addresses.set(address, held);
    held.by.idle.add(socket);
    this.places.set(socket, { address, held, work: 'idle' });
    socket.once('close', () => this.leave(socket));
  }

  /** Call it when the connection does something else. */
  note(socket: Socket, work: ConnectionWork): void {
    const place = this.places.get(socket);
    if (place === undefined || place.work === work) return;
    place.held.by[place.work].delete(socket);
    place.held.by[work].add(socket);
    place.work = work;
  }

  private newHeld(remote: string): Held {
    const by = { idle: new Set<Socket>(), unread: new Set<Socket>(), working: new Set<Socket>() };
    return { isProxy: this.isProxy(remote), by };
  }

  private hasRoomFor(held: Held): boolean {
    const own = sizeOf(held);
    if (own >= this.limits.connectionsPerAddressMax && !held.isProxy)
      return this.replaceOne(held, ['idle', 'unread']);
    if (this.places.size < this.limits.connectionsMax) return true;
    const most = this.mostHeld();
    return most !== undefined && sizeOf(most) > own + 1
      ? this.replaceOne(most, ['idle', 'unread', 'working'])
      : this.replaceOne(held, ['idle', 'unread']);
  }

  /** Searched only when all places are taken, so among at most as many addresses as places. */
  private mostHeld(): Held | undefined {
    let most: Held | undefined;
    for (const held of this.addresses.values())
      if (!held.isProxy && (most === undefined || sizeOf(held) > sizeOf(most))) most = held;
    return most;
  }

  private replaceOne({ by }: Held, works: readonly ConnectionWork[]): boolean {
    const [first] = works.flatMap((work) => firstOf(by[work]));
    if (first === undefined) return false;
    this.leave(first);
    first.destroy();
    this.onEnd('replaced');
    return true;
  }

  private keepSpare(socket: Socket): void {
    this.onEnd('turned-away');
    if (this.spare.size >= SPARE_MAX)
      for (const oldest of firstOf(this.spare)) {
        this.spare.delete(oldest);
        oldest.destroy();
      }
    this.spare.add(socket);
    socket.once('close', () => this.spare.delete(socket));
  }

  private leave(socket: Socket): void {
    const place = this.places.get(socket);
    if (place === undefined) return;
    this.places.delete(socket);
    place.held.by[place.work].delete(socket);
    if (sizeOf(place.held) === 0) this.addresses.delete(place.address);
  }
}

/** The first one alone, or none, without reading the others. */
function firstOf<T>(set: ReadonlySet<T>): readonly T[] {
  for (const one of set) return [one];
  return [];
}
