import type { IncomingMessage, ServerResponse } from 'node:http';

interface Arriving {
  bytes: number;
  readonly giveUp: () => void;
}

/**
 * Bounds the bytes of all bodies that have not arrived as a whole yet. What passes the bound costs
 * the request that holds most of them, and not the one that came last: whoever holds many large
 * bodies back pays with those, and a usual request is never turned away.
 */
export class ArrivingBodies {
  private readonly arriving = new Set<Arriving>();
  private bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /**
   * @param giveUp called once at most: this is the one that holds most.
   * @returns what is to be called with the length of each piece, and with undefined when the body
   * is whole.
   */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    giveUp: () => void,
  ): (bytes: number | undefined) => void {
    const own: Arriving = { bytes: 0, giveUp };
    this.arriving.add(own);
    const release = (): void => this.release(own);
    // Answered: what is still read of it is dropped at once. Closed: the response of one that waits
    // behind others never closes by itself.
    response.once('finish', release).once('close', release);
    request.once('close', release);
    return (bytes) => {
      if (bytes === undefined) return release();
      if (!this.arriving.has(own)) return;
      own.bytes += bytes;
      this.bytes += bytes;
      if (this.bytes > this.bytesMax) this.giveUpLargest();
    };
  }

  private giveUpLargest(): void {
    let largest: Arriving | undefined;
    for (const one of this.arriving)
      if (largest === undefined || one.bytes > largest.bytes) largest = one;
    if (largest === undefined) return;
    this.release(largest);
    largest.giveUp();
  }

  private release(one: Arriving): void {
    if (this.arriving.delete(one)) this.bytes -= one.bytes;
  }
}
