import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { Logger } from '../../foundation/logger.js';
import { Connections } from './connections.js';
import type { HttpLimits } from './http-limits.js';

/** Probes and scrapers are few. */
const CONNECTIONS_MAX = 64;
/** A page of the docs for each of them. */
const UNREAD_BYTES_MAX = 64 * 2 * 1024 * 1024;
/** Its routes read no body. */
const ARRIVING_BYTES_MAX = 1024 * 1024;

/**
 * The listener for health, metrics and docs: the same application behind sockets of its own, so
 * that neither the clients of the public listener nor their number matter to it.
 */
export class OperationsListener {
  readonly connections: Connections;
  private readonly requests = new WeakSet<IncomingMessage>();
  private server: Server | undefined;

  /** @param isProxy whether an address is a trusted proxy's. */
  constructor(limits: HttpLimits, isProxy: (address: string) => boolean, logger: Logger) {
    const own = {
      connectionsMax: CONNECTIONS_MAX,
      connectionsPerAddressMax: CONNECTIONS_MAX,
      unreadBytesMax: UNREAD_BYTES_MAX,
      arrivingBytesMax: ARRIVING_BYTES_MAX,
      acceptorsPerAddress: 1,
    };
    this.connections = new Connections({ ...limits, ...own }, isProxy, logger);
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
