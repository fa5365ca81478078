import { once } from 'node:events';
import { createServer, Socket, type Server, type TcpNetConnectOpts } from 'node:net';

type Target = Pick<TcpNetConnectOpts, 'host' | 'port'> | { readonly path: string };

/**
 * A line between a client and a server that a test can cut, freeze, or close: what a lost, and what
 * a hung, process, host or network look like from outside.
 */
export class TcpProxy {
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Set<Socket>();
  #server: Server | undefined;
  #held = new WeakSet<Socket>();
  #frozen = false;
  #refusing = false;
  #port = 0;

  constructor(private readonly target: () => Target) {}

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

  /** Opens at the port that it had before, or at a free one. */
  async listen(): Promise<this> {
    const server = createServer((client) => this.#connect(client));
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
    this.#port = address.port;
    this.#server = server;
    return this;
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }

  /** Breaks all connections, and new ones immediately, as a server that is down does. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** New connections work again. */
  accept(): void {
    this.#refusing = false;
  }

  /**
   * Nothing comes through any more, in either direction; new connections are taken and lead
   * nowhere.
   */
  freeze(): void {
    this.#frozen = true;
    this.forget();
  }

  /** Drops all data of the present connections without closing them; new ones work. */
  forget(): void {
    for (const socket of this.#sockets) this.#hold(socket);
  }

  /** Everything continues, what was sent meanwhile included. */
  thaw(): void {
    this.#frozen = false;
    this.#held = new WeakSet();
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
    if (this.#refusing) return void client.on('error', () => undefined).resetAndDestroy();
    this.#clients.add(client);
    client.on('close', () => this.#clients.delete(client));
    const upstream = new Socket().connect(this.target());
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      // A side that does not read must not fill the memory of the other.
      socket.on('data', (chunk) => void (other.write(chunk) || socket.pause()));
      other.on('drain', () => void (this.#held.has(socket) || socket.resume()));
      socket.on('end', () => other.end());
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      if (this.#frozen) this.#hold(socket);
    }
  }

  #hold(socket: Socket): void {
    this.#held.add(socket);
    socket.pause();
  }
}

export const startTcpProxy = (target: Target): Promise<TcpProxy> =>
  new TcpProxy(() => target).listen();
