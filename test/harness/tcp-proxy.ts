import { once } from 'node:events';
import { createServer, Socket, type Server } from 'node:net';

type Target = { readonly host: string; readonly port: number } | { readonly path: string };

/**
 * A line between a client and a server that a test can cut, freeze, close, and open again at the
 * same port: what a lost, a hung and a dead server look like from outside.
 */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Set<Socket>();
  readonly #forgotten = new WeakSet<Socket>();
  #server: Server | undefined;
  #frozen = false;
  #refusing = false;
  #port: number;

  /** @param port 0: a free one. */
  constructor(
    private readonly target: () => Target,
    port = 0,
  ) {
    this.#port = port;
  }

  get port(): number {
    return this.#port;
  }

  get open(): boolean {
    return this.#server !== undefined;
  }

  /** Connections of clients that are open now. */
  get connections(): number {
    return this.#clients.size;
  }

  /** Opens at the port that it had before; at first at the given one. */
  async listen(): Promise<void> {
    const server = createServer((client) => this.#connect(client));
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    this.#port = address.port;
    this.#server = server;
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  /** Breaks all connections, and new ones at their beginning, as a server that is down does. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** New connections work again. */
  accept(): void {
    this.#refusing = false;
  }

  /** Nothing passes in either direction; new connections are accepted and lead nowhere. */
  freeze(): void {
    this.#frozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Drops all data of the present connections without closing them; new ones work. */
  forget(): void {
    for (const socket of this.#sockets) this.#forgotten.add(socket.pause());
  }

  /** Everything continues, what was sent meanwhile included. */
  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Breaks all connections; new ones are refused from when this is called. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    this.cut();
    await closed;
  }

  #connect(client: Socket): void {
    if (this.#refusing) {
      client.on('error', () => undefined).resetAndDestroy();
      return;
    }
    this.#clients.add(client);
    client.on('close', () => this.#clients.delete(client));
    const upstream = new Socket().connect(this.target());
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('data', (chunk) => {
        // A side that does not read must not fill the memory of the other.
        if (!other.write(chunk)) socket.pause();
      });
      other.on('drain', () => {
        if (!this.#frozen && !this.#forgotten.has(socket)) socket.resume();
      });
      socket.on('end', () => other.end());
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      if (this.#frozen) socket.pause();
    }
  }
}

export async function startTcpProxy(target: Target): Promise<TcpProxy> {
  const proxy = new TcpProxy(() => target);
  await proxy.listen();
  return proxy;
}
