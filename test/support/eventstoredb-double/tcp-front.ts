import { once } from 'node:events';
import { createServer, Socket, type Server } from 'node:net';

/**
 * What clients connect to: a line to the gRPC server behind it. It can be cut, frozen, closed, and
 * opened again at the same port, which are the faults of a process, of a host and of a network that
 * no gRPC server can play on itself.
 */
export class TcpFront {
  readonly #sockets = new Set<Socket>();
  readonly #clients = new Set<Socket>();
  #server: Server | undefined;
  #frozen = false;
  #port = 0;

  constructor(private readonly behind: () => number) {}

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
  async listen(port = this.#port): Promise<void> {
    const server = createServer((client) => this.#connect(client));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the double has no port');
    this.#port = address.port;
    this.#server = server;
  }

  /**
   * Nothing comes through any more, in either direction; new connections are taken and lead
   * nowhere.
   */
  freeze(): void {
    this.#frozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Everything goes on, what was sent meanwhile included. */
  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
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
    this.#clients.add(client);
    client.on('close', () => this.#clients.delete(client));
    const upstream = new Socket().connect(this.behind(), '127.0.0.1');
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
        if (!this.#frozen) socket.resume();
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
