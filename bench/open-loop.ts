import { connect, type Socket } from 'node:net';

/** What came back in a phase. */
export interface Came {
  /** Requests that were sent. */
  sent: number;
  /** Requests whose time had come while no connection was free. */
  unsent: number;
  /** Milliseconds of answers of 2xx, and of 503. */
  readonly accepted: number[];
  readonly refused: number[];
  /** 503 without `Retry-After`. */
  withoutRetryAfter: number;
  /** Answers with any other status, by it. */
  readonly others: Map<number, number>;
  /** Connections that ended. */
  lost: number;
}

export const noneCame = (): Came => ({
  sent: 0,
  unsent: 0,
  accepted: [],
  refused: [],
  withoutRetryAfter: 0,
  others: new Map(),
  lost: 0,
});

export interface OpenLoopOptions {
  readonly port: number;
  readonly connectionsMax: number;
  /** Requests as they are sent, in turn. */
  readonly requests: readonly string[];
}

const CONNECTIONS_PER_ADDRESS = 500;
const TICK_MS = 2;

/**
 * Sends requests at a rate, whether or not the earlier ones were answered: each on a
 * connection that waits for nothing, so that a late answer delays no other request.
 */
export class OpenLoop {
  came = noneCame();
  private readonly all = new Set<Client>();
  private readonly free: Client[] = [];
  private opened = 0;
  private next = 0;

  constructor(private readonly options: OpenLoopOptions) {}

  /** @param rate a second, for so many seconds. */
  async send(rate: number, seconds: number): Promise<Came> {
    this.came = noneCame();
    const began = performance.now();
    let due = 0;
    await new Promise<void>((resolve) => {
      const tick = (): void => {
        const passed = performance.now() - began;
        for (const end = (Math.min(passed, seconds * 1000) * rate) / 1000; due < end; due++)
          this.sendOne();
        if (passed >= seconds * 1000) resolve();
        else setTimeout(tick, TICK_MS);
      };
      tick();
    });
    return this.came;
  }

  end(): void {
    for (const client of this.all) client.end();
  }

  private sendOne(): void {
    const { requests } = this.options;
    const client = this.free.pop() ?? this.open();
    if (client === undefined) {
      this.came.unsent += 1;
      return;
    }
    this.came.sent += 1;
    client.send(requests[this.next++ % requests.length] ?? '');
  }

  private open(): Client | undefined {
    if (this.opened >= this.options.connectionsMax) return undefined;
    // An address has a part of the service's connections, and rests where it asks more than others.
    const addresses = Math.ceil(this.options.connectionsMax / CONNECTIONS_PER_ADDRESS);
    const from = `127.0.0.${2 + (this.opened % addresses)}`;
    this.opened += 1;
    const socket = connect({ port: this.options.port, host: '127.0.0.1', localAddress: from });
    const opened = new Client(socket, {
      answered: (client, answer) => this.note(client, answer),
      lost: (client) => {
        this.came.lost += 1;
        this.opened -= 1;
        this.all.delete(client);
        const index = this.free.indexOf(client);
        if (index >= 0) this.free.splice(index, 1);
      },
    });
    this.all.add(opened);
    return opened;
  }

  private note(client: Client, { status, ms, head }: Answered): void {
    const { came } = this;
    if (!/^connection: close/im.test(head)) this.free.push(client);
    if (status >= 200 && status < 300) came.accepted.push(ms);
    else if (status !== 503) came.others.set(status, (came.others.get(status) ?? 0) + 1);
    else {
      came.refused.push(ms);
      if (!/^retry-after: \d/im.test(head)) came.withoutRetryAfter += 1;
    }
  }
}

interface Answered {
  readonly status: number;
  readonly ms: number;
  readonly head: string;
}

interface Listener {
  answered(client: Client, answer: Answered): void;
  lost(client: Client): void;
}

/** One connection, with one request at a time. */
class Client {
  private text = '';
  private sentAt = 0;

  constructor(
    private readonly socket: Socket,
    private readonly listener: Listener,
  ) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (piece: string) => this.read(piece));
    socket.on('error', () => undefined);
    socket.once('close', () => listener.lost(this));
  }

  send(request: string): void {
    this.sentAt = performance.now();
    this.socket.write(request);
  }

  end(): void {
    this.socket.destroy();
  }

  private read(piece: string): void {
    this.text += piece;
    const end = this.text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.text.slice(0, end);
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (this.text.length < end + 4 + length) return;
    this.text = '';
    const status = Number(head.slice(9, 12));
    this.listener.answered(this, { status, ms: performance.now() - this.sentAt, head });
  }
}
