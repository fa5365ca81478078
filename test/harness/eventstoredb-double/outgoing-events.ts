import { type ServerWritableStream, type ServiceError } from '@grpc/grpc-js';
import type streams from '@eventstore/db-client/generated/streams_pb.js';
import { encodedEvent } from './encoded-event.js';
import { type Faults, type IncomingCall } from './faults.js';
import { type StoredEvent } from './stored-event.js';

/** The answer of a read or a subscription, as fast as the client takes it. */
export class OutgoingEvents {
  #over = false;
  readonly #whenOver: (() => void)[] = [];

  constructor(
    private readonly node: { readonly faults: Faults },
    private readonly call: ServerWritableStream<streams.ReadReq, streams.ReadResp>,
    readonly incoming: IncomingCall,
  ) {
    call.on('cancelled', () => this.#finish());
  }

  /** The reader is gone: ended, failed, or cancelled by the client. */
  get over(): boolean {
    return this.#over || this.call.cancelled;
  }

  /** Calls back when the reader is gone. */
  onOver(callback: () => void): void {
    if (this.over) callback();
    else this.#whenOver.push(callback);
  }

  /** Sends an event, unless a fault ends the stream. @returns false when the reader left. */
  async event(event: StoredEvent): Promise<boolean> {
    if (this.over) return false;
    if (this.node.faults.strike('stream-ended', this.incoming)) {
      this.end();
      return false;
    }
    if (this.node.faults.strike('deaf', this.incoming)) return true;
    return this.send(encodedEvent(event));
  }

  async send(response: streams.ReadResp): Promise<boolean> {
    if (this.over) return false;
    if (!this.call.write(response)) await this.#drained();
    return !this.over;
  }

  /** Sends without waiting for the client. */
  push(event: StoredEvent): void {
    if (!this.over) this.call.write(encodedEvent(event));
  }

  end(): void {
    if (this.over) return;
    this.call.end();
    this.#finish();
  }

  fail(error: ServiceError): void {
    if (this.over) return;
    this.call.emit('error', error);
    this.#finish();
  }

  #finish(): void {
    this.#over = true;
    for (const callback of this.#whenOver.splice(0)) callback();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.call.off('drain', done);
        this.call.off('cancelled', done);
        resolve();
      };
      this.call.on('drain', done);
      this.call.on('cancelled', done);
    });
  }
}
