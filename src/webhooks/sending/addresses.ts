import { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Cidr } from '../../config/config.js';

/** Global unicast (RFC 4291): all other IPv6 addresses are special, or not assigned. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * Clouds answer there with credentials of the machine: refused, whatever the operator allows.
 */
const METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '168.63.129.16',
  'fd00:ec2::254',
]);

/** Behind it, an interface identifier of ISATAP (RFC 5214) holds an IPv4 address. */
const ISATAP = 0x5efe;

/** The addresses that a connection may be made to: public ones, and the ranges of the operator. */
export class AllowedAddresses {
  private readonly opened = new BlockList();

  /** @param ranges that are allowed though they are not public. */
  constructor(ranges: readonly Cidr[]) {
    for (const { address, prefix, family } of ranges)
      this.opened.addSubnet(address, prefix, family);
  }

  /**
   * @param address an IPv4 address in four decimal numbers, or an IPv6 address. IPv4-mapped IPv6 is
   * judged as its IPv4 address, which is where the packets go.
   */
  includes(address: string): boolean {
    // A zone chooses a network card of this machine.
    if (address.includes('%') || !ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    const text = parsed.toString();
    if (METADATA.has(text)) return false;
    return this.opened.check(text, parsed.kind()) || isPublic(parsed);
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  if (!('parts' in address)) return true;
  return address.match(GLOBAL_IPV6) && address.parts[5] !== ISATAP;
}
