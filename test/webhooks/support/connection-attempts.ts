import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Every address that this process tries to connect to, from now on. */
export interface ConnectionAttempts {
  readonly addresses: readonly string[];
  stop(): void;
}

export function watchConnectionAttempts(): ConnectionAttempts {
  const addresses: string[] = [];
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    socket.on('connectionAttempt', (address: string) => addresses.push(address));
    socket.on('connect', () => addresses.push(socket.remoteAddress ?? 'unknown'));
  };
  subscribe('net.client.socket', watch);
  return { addresses, stop: () => void unsubscribe('net.client.socket', watch) };
}
