import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
  type Socket,
} from 'node:net';
import { selfSignedCertificate } from '../harness/self-signed.js';
import { pollPause } from './poll-pause.js';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  /** With the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Number of its connection, from 1 on. */
  readonly connection: number;
  readonly tls: boolean;
}

/** What the receiver does with a request; default: 200 immediately, without a body. */
export type Behaviour =
  | {
      readonly kind: 'answer';
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  | { readonly kind: 'redirect'; readonly status: number; readonly to: string }
  /** No answer at all. */
  | { readonly kind: 'hang' }
  /** Headers and some of the body. */
  | { readonly kind: 'hang-in-body'; readonly status?: number }
  /** A body of single bytes that never ends. */
  | { readonly kind: 'trickle'; readonly everyMs: number }
  | { readonly kind: 'trickle-headers'; readonly everyMs: number }
  /** 400 KB of headers. */
  | { readonly kind: 'endless-headers' }
  /** A body of 1 GB. */
  | { readonly kind: 'flood'; readonly status: number }
  | {
      readonly kind: 'break-off';
      readonly status?: number;
      /** Default: before the headers. */
      readonly when?: 'in-headers' | 'in-body';
    }
  /** Over TLS: bytes that do not decrypt. */
  | { readonly kind: 'break-tls' }
  | { readonly kind: 'not-http' };

const FLOOD_BYTES = 1_000_000_000;

/** A receiver of webhooks, which records raw requests and misbehaves on demand. */
export class WebhookReceiver {
  /** Of all paths, in their order. */
  readonly received: ReceivedRequest[] = [];
  /** Bytes of bodies that `flood` could send before its sender left, one for each request. */
  readonly flooded: number[] = [];
  port = 0;
  private tlsPort: number | null = null;
  private readonly behaviours = new Map<string, Behaviour[]>();
  private readonly servers: TcpServer[] = [];
  /** In the order of their arrival; those of TLS as they came, before it. */
  private readonly sockets: Socket[] = [];
  /** The connection of the sender, by the port of the one that leads to the TLS server. */
  private readonly rawSocketOf = new Map<number | undefined, Socket>();

  private constructor(
    private readonly host: string,
    private readonly trusted: { readonly key: string; readonly cert: string } | undefined,
  ) {}

  static async start(host: string, tls: boolean): Promise<WebhookReceiver> {
    const made = tls
      ? await selfSignedCertificate(['IP:127.0.0.1', 'DNS:receiver.test'])
      : undefined;
    await made?.remove();
    const receiver = new WebhookReceiver(host, made);
    receiver.port = await receiver.listen(
      createServer(
        (request, response) => void receiver.receive(request, response, request.socket),
      ).on('connection', (socket) => receiver.connected(socket)),
      host,
    );
    if (made) receiver.tlsPort = await receiver.listenWithTls(made);
    return receiver;
  }

  /** In PEM: what a sender must trust for `tlsUrl`. */
  get certificate(): string {
    return this.trusted?.cert ?? '';
  }

  get connections(): number {
    return this.sockets.length;
  }

  url(path: string): string {
    return `http://${this.host}:${this.port}${path}`;
  }

  /** The same over TLS; needs `tls` at the start. */
  tlsUrl(path: string): string {
    return `https://${this.host}:${this.tlsPort}${path}`;
  }

  receivedAt(path: string): readonly ReceivedRequest[] {
    return this.received.filter((request) => request.path === path);
  }

  /** From the next request at the path on, one after the other; the last one stays. */
  behave(path: string, ...sequence: readonly Behaviour[]): void {
    this.behaviours.set(path, [...sequence]);
  }

  /** Waits until this is true of what was received. */
  async until(condition: (received: readonly ReceivedRequest[]) => boolean): Promise<void> {
    for (let looks = 1; !condition(this.received); looks += 1) await pollPause(looks);
  }

  async requests(path: string, count = 1): Promise<readonly ReceivedRequest[]> {
    await this.until(() => this.receivedAt(path).length >= count);
    return this.receivedAt(path);
  }

  async stop(): Promise<void> {
    const closed = this.servers.map(
      (server) => new Promise((resolve) => void server.close(resolve)),
    );
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(closed);
  }

  private connected(socket: Socket): void {
    this.sockets.push(socket);
    socket.on('error', () => undefined);
  }

  private async listen(server: TcpServer, host: string): Promise<number> {
    this.servers.push(server);
    if ('requestTimeout' in server)
      Object.assign(server, { keepAliveTimeout: 30_000, requestTimeout: 0, headersTimeout: 0 });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return (server.address() as AddressInfo).port;
  }

  /** The TLS server after a plain one, which can write next to the encryption. */
  private async listenWithTls(certificate: { key: string; cert: string }): Promise<number> {
    const encrypted: Server = createTlsServer(certificate, (request, response) => {
      const raw = this.rawSocketOf.get(request.socket.remotePort);
      if (raw) void this.receive(request, response, raw);
    });
    encrypted.on('tlsClientError', () => undefined);
    const innerPort = await this.listen(encrypted, '127.0.0.1');
    const front = createTcpServer((raw) => {
      this.connected(raw);
      const inner = connect(innerPort, '127.0.0.1', () => {
        this.rawSocketOf.set(inner.localPort, raw);
        raw.pipe(inner).pipe(raw);
      });
      inner.on('error', () => raw.destroy()).on('close', () => raw.destroy());
      raw.on('close', () => inner.destroy());
    });
    return this.listen(front, this.host);
  }

  /** @param from the connection of the sender. */
  private async receive(request: IncomingMessage, response: ServerResponse, from: Socket) {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The sender left.
    }
    const { method = '', url = '', headers } = request;
    const path = new URL(url, 'http://receiver').pathname;
    this.received.push({
      method,
      path,
      url,
      headers: headers as Record<string, string>,
      body: Buffer.concat(chunks),
      connection: this.sockets.indexOf(from) + 1,
      tls: from !== request.socket,
    });
    const left = this.behaviours.get(path) ?? [];
    this.answer((left.length > 1 ? left.shift() : left[0]) ?? { kind: 'answer' }, response, from);
  }

  private answer(behaviour: Behaviour, response: ServerResponse, from: Socket): void {
    const socket = response.socket ?? from;
    const write = (text: string): void => void socket.write(text);
    const status = 'status' in behaviour ? (behaviour.status ?? 200) : 200;
    const repeat = (everyMs: number, again: () => void): void => {
      const timer = setInterval(again, everyMs);
      socket.on('close', () => clearInterval(timer));
    };
    switch (behaviour.kind) {
      case 'answer':
        response.writeHead(status, behaviour.headers).end(behaviour.body);
        return;
      case 'redirect':
        response.writeHead(status, { location: behaviour.to }).end();
        return;
      case 'hang':
        return;
      case 'hang-in-body':
        response.writeHead(status).write('one piece, and then nothing');
        return;
      case 'trickle':
        response.writeHead(200);
        return repeat(behaviour.everyMs, () => response.write('.'));
      case 'trickle-headers':
        write('HTTP/1.1 200 OK\r\nx-endless: ');
        return repeat(behaviour.everyMs, () => write('.'));
      case 'endless-headers':
        return write(`HTTP/1.1 200 OK\r\n${'x-long: 0123456789\r\n'.repeat(20_000)}`);
      case 'flood': {
        response.writeHead(status, { 'content-length': String(FLOOD_BYTES) });
        const before = from.bytesWritten;
        untilFull(response, Buffer.alloc(64 * 1024, 'x'));
        response.on('close', () => this.flooded.push(from.bytesWritten - before));
        return;
      }
      case 'break-off':
        if (behaviour.when === undefined) return void socket.destroy();
        if (behaviour.when === 'in-headers')
          return void socket.write('HTTP/1.1 200 OK\r\nx-hal', () => socket.destroy());
        response.writeHead(status, { 'content-length': '1000' });
        response.write('half of it', () => socket.destroy());
        return;
      case 'break-tls':
        // A record that looks right, and does not decrypt.
        from.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 32]), Buffer.alloc(32, 'x')]));
        return;
      case 'not-http':
        socket.end('220 mail.example ESMTP\r\n');
    }
  }
}

/** Writes the piece again and again, as fast as it is taken. */
function untilFull(to: Socket | ServerResponse, piece: Buffer): void {
  const more = (): void => {
    while (!to.destroyed) if (!to.write(piece)) return;
  };
  to.on('drain', more);
  more();
}

/**
 * @param given `host` (default 127.0.0.1); `tls`: also listens with TLS, with a new certificate.
 */
export const startWebhookReceiver = ({
  host = '127.0.0.1',
  tls = false,
}: { readonly host?: string; readonly tls?: boolean } = {}): Promise<WebhookReceiver> =>
  WebhookReceiver.start(host, tls);
