import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Every address at which this process tries to connect to a port, from now on. */
export interface ConnectionAttempts {
  readonly addresses: readonly string[];
  stop(): void;
}

/** Connections to the port of the test's receiver. */
export function watchConnectionAttempts(to: { readonly port: number }): ConnectionAttempts {
  const addresses: string[] = [];
  const note = (address: string | undefined, port: number | undefined): void => {
    if (port === to.port) addresses.push(address ?? 'unknown');
  };
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.on('connectionAttempt', note);
    socket.on('connect', () => note(socket.remoteAddress, socket.remotePort));
  };
  subscribe('net.client.socket', watch);
  return { addresses, stop: () => void unsubscribe('net.client.socket', watch) };
}
