import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** A range of addresses, as `net.BlockList#addSubnet` takes it. */
export interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Fastify's `trustProxy`: whether an address may name the client behind it. */
export function trustOf(proxies: readonly AddressRange[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const { address, prefix, family } of proxies) ranges.addSubnet(address, prefix, family);
  return (address) => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && ranges.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * The client's address: the socket's, or the one that trusted proxies name. Text that is no address
 * is ignored.
 */
export function clientAddress({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>): string {
  const reported = plainAddress(ip);
  return isIP(reported) !== 0 ? reported : plainAddress(raw.socket.remoteAddress ?? '');
}

/** Unwraps an IPv4 address that a dual-stack socket shows as IPv6. */
const plainAddress = (address: string): string => {
  const wrapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address.trim())?.[1];
  return wrapped ?? address.trim();
};
