import { BlockList, isIP } from 'node:net';
import type { LoggedAddresses } from '../../config/config.js';

/** A range of addresses, as `net.BlockList#addSubnet` takes it. */
export interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Fastify's `trustProxy`: whether an address may name the client behind it. */
export type Trust = (address: string | undefined) => boolean;

export function trustOf(proxies: readonly AddressRange[]): Trust {
  const ranges = new BlockList();
  for (const { address, prefix, family } of proxies) ranges.addSubnet(address, prefix, family);
  return (address) => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && ranges.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  };
}

/** A request of Fastify's, whose `ip` is undefined when its socket was reset early. */
interface Addressed {
  readonly ip: string | undefined;
  readonly raw: { readonly socket: { readonly remoteAddress?: string | undefined } };
}

/**
 * The client's address: the socket's, or the one that trusted proxies name. Text that is no address
 * is ignored. Empty: the socket was reset before anybody asked.
 */
export function clientAddress({ ip, raw }: Addressed): string {
  const reported = plainAddress(ip);
  return isIP(reported) !== 0 ? reported : plainAddress(raw.socket.remoteAddress);
}

/**
 * What counts as one client: an IPv4 address; of an IPv6 address the first 64 bits, of which a
 * client has all addresses. Other text stays as it is.
 */
export function countedAddress(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  const groups = groupsOf(plain);
  const wrapped = wrappedIPv4(groups);
  return wrapped ?? `${groups.slice(0, 4).join(':')}::/64`;
}

/**
 * An address for a log line. `short`: the first 24 bits of an IPv4 address, the first 48 of an IPv6
 * address, so that the line is about a network and not about a person. Undefined: none, or text
 * that is no address.
 */
export function loggedAddress(address: string, logged: LoggedAddresses): string | undefined {
  const plain = plainAddress(address);
  const version = isIP(plain);
  if (logged === 'none' || version === 0) return undefined;
  const groups = version === 6 ? groupsOf(plain) : [];
  const address4 = version === 6 ? wrappedIPv4(groups) : plain;
  if (logged === 'full') return address4 ?? plain;
  if (address4 !== undefined) return address4.replace(/\d+$/, '0/24');
  return `${groups.slice(0, 3).join(':')}::/48`;
}

/** The eight groups of an IPv6 address, in hex without leading zeros. */
function groupsOf(address: string): readonly string[] {
  // The URL parser writes each address in one way; it takes no zone.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]/`);
  const [before = '', after = ''] = hostname.slice(1, -1).split('::');
  const [left, right] = [before, after].map((part) => (part === '' ? [] : part.split(':')));
  const known = [...(left ?? []), ...(right ?? [])];
  const zeros = new Array<string>(8 - known.length).fill('0');
  return [...(left ?? []), ...zeros, ...(right ?? [])];
}

function wrappedIPv4(groups: readonly string[]): string | undefined {
  if (groups.slice(0, 6).join(':') !== '0:0:0:0:0:ffff') return undefined;
  const bytes = Buffer.from(
    groups
      .slice(6)
      .map((group) => group.padStart(4, '0'))
      .join(''),
    'hex',
  );
  return bytes.join('.');
}

/**
 * Unwraps an IPv4 address that a dual-stack socket shows as IPv6. A socket that was reset has none.
 */
const plainAddress = (address: string | undefined): string => {
  const given = address?.trim() ?? '';
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(given)?.[1] ?? given;
};
