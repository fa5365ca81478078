import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** A range of addresses, as `net.BlockList#addSubnet` takes it. */
export interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** For the framework: whether what an address says of whom it speaks for is believed. */
export function trustOf(proxies: readonly AddressRange[]): (address: string) => boolean {
  const ranges = new BlockList();
  for (const { address, prefix, family } of proxies) ranges.addSubnet(address, prefix, family);
  return (address) => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && ranges.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * Where a request came from: the address of the socket, or what trusted proxies say it is. What is
 * no address is not believed.
 */
export function clientAddress({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>): string {
  const told = plainAddress(ip);
  return isIP(told) !== 0 ? told : plainAddress(raw.socket.remoteAddress ?? '');
}

/** An IPv4 address that a dual-stack socket wrapped is written as itself. */
const plainAddress = (address: string): string => {
  const wrapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address.trim())?.[1];
  return wrapped ?? address.trim();
};
