import { once } from 'node:events';
import { createServer, Socket } from 'node:net';

/**
 * A line between a client and a server that a test can cut, or freeze: what a lost, and what a
 * hung, server look like from outside.
 */
export interface TcpProxy {
  readonly port: number;
  /** Breaks all connections; new ones work. */
  cut(): void;
  /** Breaks all connections, and new ones at once, as a server that is down does. */
  refuse(): void;
  /** New connections work again. */
  accept(): void;
  /**
   * Nothing comes through any more, in either direction; new connections are taken and lead
   * nowhere.
   */
  freeze(): void;
  /** Drops all data of the present connections without closing them; new ones work. */
  forget(): void;
  /** Everything goes on, what was sent meanwhile included. */
  thaw(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(
  target: { readonly host: string; readonly port: number } | { readonly path: string },
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let frozen = false;
  let refusing = false;
  const server = createServer((client) => {
    if (refusing) {
      client.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const upstream = new Socket().connect(target);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('data', (chunk) => other.write(chunk));
      socket.on('end', () => other.end());
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      if (frozen) socket.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const cut = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    refuse: () => {
      refusing = true;
      cut();
    },
    accept: () => {
      refusing = false;
    },
    freeze: () => {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    forget: () => {
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
