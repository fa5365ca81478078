import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { Connections } from './connections.js';
import type { HttpLimits } from './http-limits.js';

/** Probes, scrapers and operators are few. */
const CONNECTIONS_MAX = 64;

/**
 * The listener for operators, health and metrics: the same application behind sockets of its own,
 * so that neither the clients of the public listener nor their number matter to it.
 */
export class OperationsListener {
  readonly connections: Connections;
  private readonly requests = new WeakSet<IncomingMessage>();
  private server: Server | undefined;

  /** @param isProxy whether an address is a trusted proxy's. */
  constructor(limits: HttpLimits, isProxy: (address: string) => boolean) {
    const own = { connectionsMax: CONNECTIONS_MAX, connectionsPerAddressMax: CONNECTIONS_MAX };
    this.connections = new Connections({ ...limits, ...own }, isProxy);
  }

  /**
   * One is made, however often it is called: the public listener may have several sockets.
   * @param handle the application.
   */
  createServer(
    options: ServerOptions,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
  ): void {
    this.server ??= this.connections.createServer(options, (request, response) => {
      this.requests.add(request);
      handle(request, response);
    });
  }

  /** Whether the request arrived here. */
  received(request: IncomingMessage): boolean {
    return this.requests.has(request);
  }

  /** @returns the port. @throws when it is taken. */
  async listen(port: number, host: string): Promise<number> {
    const { server } = this;
    if (server === undefined) throw new Error('the application has no server');
    server.listen(port, host);
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  }

  async close(graceMs: number): Promise<void> {
    const { server } = this;
    if (server === undefined || !server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    const late = setTimeout(() => server.closeAllConnections(), graceMs).unref();
    await closed;
    clearTimeout(late);
  }
}
