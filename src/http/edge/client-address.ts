import { BlockList, isIP } from 'node:net';
import ipaddr, { type IPv6 } from 'ipaddr.js';
import type { FastifyRequest } from 'fastify';
import type { Cidr, LoggedAddresses } from '../../config/config.js';

/** Fastify's `trustProxy`: whether to believe an address about its client. */
export type Trust = (address: string | undefined) => boolean;

export function trustOf(proxies: readonly Cidr[]): Trust {
  const ranges = new BlockList();
  for (const { address, prefix, family } of proxies) ranges.addSubnet(address, prefix, family);
  return (text) => {
    const address = addressIn(text);
    return address !== undefined && ranges.check(address.toString(), address.kind());
  };
}

/** The client's address, through trusted proxies. Empty: the socket was reset early. */
export const clientAddress = ({ ip, raw: { socket } }: FastifyRequest): string =>
  isIP(ip) === 4 ? ip : ((addressIn(ip) ?? addressIn(socket.remoteAddress))?.toString() ?? '');

/**
 * The unit of limits: an IPv4 address, or the first 64 bits of an IPv6 address, which all belong to
 * one client. Other text stays unchanged.
 */
export function countedAddress(text: string): string {
  const address = addressIn(text);
  return address?.kind() === 'ipv6' ? network(address as IPv6, 64) : (address?.toString() ?? text);
}

/**
 * An address for a log line. `short`: the first 24 bits of IPv4 or 48 of IPv6, which identify a
 * network and no person. Undefined: not an address.
 */
export function loggedAddress(text: string, logged: LoggedAddresses): string | undefined {
  const address = addressIn(text);
  if (logged === 'none' || address === undefined) return undefined;
  if (logged === 'full') return address.toString();
  return address.kind() === 'ipv6'
    ? network(address as IPv6, 48)
    : address.toString().replace(/\d+$/, '0/24');
}

const network = ({ parts }: IPv6, bits: 48 | 64): string =>
  `${parts
    .slice(0, bits / 16)
    .map((part) => part.toString(16))
    .join(':')}::/${bits}`;

/** Without a zone; IPv4-mapped IPv6 as IPv4. */
function addressIn(text = ''): ReturnType<typeof ipaddr.process> | undefined {
  const address = text.trim().replace(/%.*$/, '');
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
}
