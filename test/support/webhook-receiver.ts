import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { selfSignedCertificate } from '../harness/self-signed.js';

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** With the query. */
  readonly url: string;
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** The raw bytes. */
  readonly body: Buffer;
  readonly atMs: number;
  /** Number of its connection, from 1 on. */
  readonly connection: number;
  readonly tls: boolean;
}

/** What the receiver does with a request; default: 200 at once, without a body. */
export type Behaviour =
  | {
      readonly kind: 'answer';
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | { readonly kind: 'redirect'; readonly status?: number; readonly to: string }
  /** No answer at all. */
  | { readonly kind: 'hang' }
  /** Headers and some of the body. */
  | { readonly kind: 'hang-in-body'; readonly status?: number }
  /** A body of single bytes that never ends. */
  | { readonly kind: 'trickle'; readonly status?: number; readonly everyMs?: number }
  | { readonly kind: 'trickle-headers'; readonly everyMs?: number }
  /** 400 KB of headers. */
  | { readonly kind: 'endless-headers' }
  /** Answers of 103 that never lead to one. */
  | { readonly kind: 'endless-interim' }
  /** A body in chunks of one byte. */
  | { readonly kind: 'small-chunks'; readonly bytes: number }
  /** Bytes around a body, as fast as they are taken. */
  | {
      readonly kind: 'endless-framing';
      readonly of: 'empty-lines' | 'extension' | 'zeros' | 'trailers';
    }
  /** A body of 1 GB, or of `bytes`. */
  | { readonly kind: 'flood'; readonly status?: number; readonly bytes?: number }
  | {
      readonly kind: 'break-off';
      readonly status?: number;
      /** Default: before the headers. */
      readonly when?: 'before-headers' | 'in-headers' | 'in-body';
    }
  /** Over TLS: bytes that do not decrypt. */
  | { readonly kind: 'break-tls' }
  | { readonly kind: 'not-http' };

export interface WebhookReceiver {
  readonly port: number;
  /** `http://<host>:<port><path>`. */
  url(path: string): string;
  /** The same over TLS; needs `tls` at the start. */
  tlsUrl(path: string): string;
  /** In PEM: what a sender must trust for `tlsUrl`. */
  readonly certificate: string;
  /** Of all paths, in their order. */
  readonly received: readonly ReceivedRequest[];
  receivedAt(path: string): readonly ReceivedRequest[];
  /** Number of accepted connections, with and without requests. */
  readonly connections: number;
  /** Bytes of bodies that `flood` could send before its sender left, one for each request. */
  readonly flooded: readonly number[];
  /** From the next request at the path on, one after the other; the last one stays. */
  behave(path: string, ...sequence: readonly Behaviour[]): Promise<void>;
  /** Waits until this is true of what was received. */
  until(condition: (received: readonly ReceivedRequest[]) => boolean): Promise<void>;
  /** Waits for so many requests at the path, and returns them. */
  requests(path: string, count?: number): Promise<readonly ReceivedRequest[]>;
  /** Ends the process with all connections. */
  stop(): Promise<void>;
}

type Message =
  | { readonly kind: 'listening'; readonly port: number; readonly tlsPort: number | null }
  | { readonly kind: 'connected'; readonly connections: number }
  | { readonly kind: 'flooded'; readonly bytes: number }
  | { readonly kind: 'behaves'; readonly id: number }
  | {
      readonly kind: 'received';
      readonly request: Omit<ReceivedRequest, 'body'> & { readonly body: string };
    };

export interface ReceiverOptions {
  /** Address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Whether it also listens with TLS, with a certificate made for it. */
  readonly tls?: boolean;
}

/**
 * A receiver of webhooks in a process of its own, which records raw requests and misbehaves on
 * demand.
 */
export async function startWebhookReceiver({
  host = '127.0.0.1',
  tls = false,
}: ReceiverOptions = {}): Promise<WebhookReceiver> {
  const made = tls ? await selfSignedCertificate(['IP:127.0.0.1', 'DNS:receiver.test']) : undefined;
  await made?.remove();
  const certificate = made && { key: made.key, cert: made.cert };
  const child = fork(
    join(__dirname, 'webhook-receiver-process.mjs'),
    [JSON.stringify({ host, tls: certificate })],
    // A process of its own: no loader, inspector or proxy of the tests'.
    { execArgv: [], stdio: 'inherit' },
  );
  const receiver = new ReceiverProcess(child, host, certificate?.cert);
  await receiver.listening();
  return receiver;
}

class ReceiverProcess implements WebhookReceiver {
  readonly received: ReceivedRequest[] = [];
  readonly flooded: number[] = [];
  connections = 0;
  port = 0;
  private tlsPort: number | null = null;
  private asked = 0;
  /** Called after each message of the process, and when it ends. */
  private readonly waiting = new Set<() => void>();
  private readonly answered = new Set<number>();

  constructor(
    private readonly child: ChildProcess,
    private readonly host: string,
    private readonly trusted: string | undefined,
  ) {
    child.on('message', (message: Message) => {
      this.take(message);
      for (const look of [...this.waiting]) look();
    });
    child.once('exit', () => {
      for (const look of [...this.waiting]) look();
    });
  }

  get certificate(): string {
    if (this.trusted === undefined) throw new Error('the receiver was started without TLS');
    return this.trusted;
  }

  url(path: string): string {
    return `http://${this.host}:${this.port}${path}`;
  }

  tlsUrl(path: string): string {
    if (this.tlsPort === null) throw new Error('the receiver was started without TLS');
    return `https://${this.host}:${this.tlsPort}${path}`;
  }

  receivedAt(path: string): readonly ReceivedRequest[] {
    return this.received.filter((request) => request.path === path);
  }

  async behave(path: string, ...sequence: readonly Behaviour[]): Promise<void> {
    const id = (this.asked += 1);
    this.child.send({ id, path, sequence });
    await this.when(() => this.answered.delete(id));
  }

  until(condition: (received: readonly ReceivedRequest[]) => boolean): Promise<void> {
    return this.when(() => condition(this.received));
  }

  async requests(path: string, count = 1): Promise<readonly ReceivedRequest[]> {
    await this.when(() => this.receivedAt(path).length >= count);
    return this.receivedAt(path);
  }

  async stop(): Promise<void> {
    if (this.isEnded()) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  listening(): Promise<void> {
    return this.when(() => this.port > 0);
  }

  private isEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private when(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (condition()) resolve();
        else if (this.isEnded()) reject(new Error('the receiver has ended'));
        else return;
        this.waiting.delete(look);
      };
      this.waiting.add(look);
      look();
    });
  }

  private take(message: Message): void {
    switch (message.kind) {
      case 'listening':
        this.port = message.port;
        this.tlsPort = message.tlsPort;
        return;
      case 'connected':
        this.connections = message.connections;
        return;
      case 'flooded':
        this.flooded.push(message.bytes);
        return;
      case 'behaves':
        this.answered.add(message.id);
        return;
      case 'received': {
        const { body, ...request } = message.request;
        this.received.push({ ...request, body: Buffer.from(body, 'base64') });
      }
    }
  }
}
