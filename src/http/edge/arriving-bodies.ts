import type { IncomingMessage, ServerResponse } from 'node:http';

interface Arriving {
  bytes: number;
  readonly refuse: () => void;
}

/**
 * Limits the bytes of all incomplete bodies together. Beyond the limit the request with the most
 * bytes is refused, and not the newest one: a client that delays many large bodies loses those, and
 * usual requests pass.
 */
export class ArrivingBodies {
  private readonly arriving = new Set<Arriving>();
  private bytes = 0;

  constructor(private readonly bytesMax: number) {}

  /**
   * @param refuse called at most once, when this body is the largest.
   * @returns a function to call with the length of each piece, and with undefined at the end of the
   * body.
   */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    refuse: () => void,
  ): (bytes: number | undefined) => void {
    const own: Arriving = { bytes: 0, refuse };
    this.arriving.add(own);
    const release = (): void => this.release(own);
    // `finish`: after the answer the rest of the body is dropped. `close`: the response of a
    // pipelined request does not close by itself.
    response.once('finish', release).once('close', release);
    request.once('close', release);
    return (bytes) => {
      if (bytes === undefined) return release();
      if (!this.arriving.has(own)) return;
      own.bytes += bytes;
      this.bytes += bytes;
      if (this.bytes > this.bytesMax) this.refuseLargest();
    };
  }

  private refuseLargest(): void {
    let largest: Arriving | undefined;
    for (const one of this.arriving)
      if (largest === undefined || one.bytes > largest.bytes) largest = one;
    if (largest === undefined) return;
    this.release(largest);
    largest.refuse();
  }

  private release(one: Arriving): void {
    if (this.arriving.delete(one)) this.bytes -= one.bytes;
  }
}
