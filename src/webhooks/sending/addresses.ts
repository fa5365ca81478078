import { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Cidr } from '../../config/config.js';

/** Global unicast (RFC 4291); all other IPv6 addresses are special or unassigned. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Metadata services of clouds, with credentials of the machine: refused even if configured. */
const CLOUD_METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '168.63.129.16',
  'fd00:ec2::254',
]);

/** Marks an ISATAP interface identifier (RFC 5214), which embeds an IPv4 address. */
const ISATAP = 0x5efe;

/** Allows connections to public addresses and to the operator's ranges. */
export class AllowedAddresses {
  private readonly opened = new BlockList();

  /** @param ranges allowed in addition to public addresses. */
  constructor(ranges: readonly Cidr[]) {
    for (const { address, prefix, family } of ranges)
      this.opened.addSubnet(address, prefix, family);
  }

  /** @param address IPv4 in four decimal numbers, or IPv6; mapped IPv4 is checked as IPv4. */
  includes(address: string): boolean {
    // A zone selects a network interface of this machine.
    if (address.includes('%') || !ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    const text = parsed.toString();
    if (CLOUD_METADATA.has(text)) return false;
    return this.opened.check(text, parsed.kind()) || isPublic(parsed);
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  if (!('parts' in address)) return true;
  return address.match(GLOBAL_IPV6) && address.parts[5] !== ISATAP;
}
