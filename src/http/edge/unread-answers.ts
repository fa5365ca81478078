import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { countedAddress } from './client-address.js';

/** In `unreadMs` a client takes at least this many bytes of its answers, or all of them. */
const PROGRESS_BYTES_MIN = 16 * 1024;

interface Unread {
  readonly socket: Socket;
  readonly address: string;
  readonly bytes: number;
}

interface Mark {
  readonly taken: number;
  readonly atMs: number;
}

/**
 * Answers that were made and that the network has not taken yet. Limits their bytes in memory:
 * beyond `bytesMax` the address that has most of them loses the connection that is longest unread.
 * Tells which clients do not read.
 */
export class UnreadAnswers {
  /** Oldest first. */
  private readonly answers = new Map<ServerResponse, Unread>();
  private readonly bytesOf = new Map<string, number>();
  private readonly marks = new WeakMap<Socket, Mark>();
  private bytes = 0;

  /** @param end ends the connection of an answer. */
  constructor(
    private readonly limits: { readonly unreadBytesMax: number; readonly unreadMs: number },
    private readonly end: (socket: Socket) => void,
  ) {}

  /** The answer was handed over to the network. False: the network has taken it as a whole. */
  add(response: ServerResponse, socket: Socket): boolean {
    const bytes = response.writableLength;
    if (bytes === 0 || response.destroyed) return false;
    const address = countedAddress(socket.remoteAddress ?? '');
    this.answers.set(response, { socket, address, bytes });
    this.count(address, bytes);
    while (this.bytes > this.limits.unreadBytesMax) this.endOldest();
    return true;
  }

  /** The answer was taken, or its connection has ended. */
  remove(response: ServerResponse): void {
    const unread = this.answers.get(response);
    if (unread === undefined) return;
    this.answers.delete(response);
    this.count(unread.address, -unread.bytes);
  }

  /**
   * Whether the client has taken too little for too long. Call it at intervals.
   * @param nowMs of a clock that never goes back.
   */
  isStalled(socket: Socket, nowMs: number): boolean {
    if (socket.writableLength === 0) {
      this.marks.delete(socket);
      return false;
    }
    const taken = bytesTaken(socket);
    const mark = this.marks.get(socket);
    if (mark !== undefined && taken - mark.taken < PROGRESS_BYTES_MIN)
      return nowMs - mark.atMs >= this.limits.unreadMs;
    this.marks.set(socket, { taken, atMs: nowMs });
    return false;
  }

  private count(address: string, bytes: number): void {
    const now = (this.bytesOf.get(address) ?? 0) + bytes;
    this.bytes += bytes;
    if (now > 0) this.bytesOf.set(address, now);
    else this.bytesOf.delete(address);
  }

  private endOldest(): void {
    const [most] = [...this.bytesOf].reduce((a, b) => (b[1] > a[1] ? b : a));
    for (const { socket, address } of this.answers.values()) {
      if (address !== most) continue;
      for (const [response, unread] of this.answers)
        if (unread.socket === socket) this.remove(response);
      this.end(socket);
      return;
    }
  }
}

/**
 * Bytes that the network has taken from this process. Node counts them only in the socket's handle,
 * where its own time-outs look: the public `bytesWritten` includes what waits in the handle.
 */
function bytesTaken(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const [given, waiting] = ['bytesWritten', 'writeQueueSize'].map((name): unknown =>
    typeof handle === 'object' && handle !== null ? Reflect.get(handle, name) : undefined,
  );
  return typeof given === 'number' && typeof waiting === 'number'
    ? given - waiting
    : socket.bytesWritten - socket.writableLength;
}
