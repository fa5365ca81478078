import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { Cidr } from '../../config/config.js';
import { AllowedAddresses } from './addresses.js';
import { hostOf, parseEndpoint } from './endpoint-url.js';
import { findAddressesFrom, NameNotResolved, type FindAddresses } from './find-addresses.js';

export interface EndpointGuardOptions {
  /** Ranges allowed in addition to public addresses (`WEBHOOK_ALLOW_CIDRS`). */
  readonly allowed: readonly Cidr[];
  readonly lookup?: FindAddresses;
}

/** `reason` is shown to the tenant. */
export type EndpointCheck =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'malformed'; readonly reason: string }
  | { readonly kind: 'not-allowed'; readonly reason: string };

export interface ConnectorOptions {
  /** Time limit of the connection with TLS. */
  readonly withinMs: number;
  /** Trusted certificates in PEM. Default: those of Node. */
  readonly trusted?: string;
}

/** The host is or has an address that connections are not allowed to. */
export class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed';
}

/** RFC 6761: these names mean this machine, without DNS. */
const LOOPBACK_NAME = /(^|\.)localhost\.?$/;
const LOOPBACK = ['127.0.0.1', '::1'];
/** Bounds the addresses that are tried: a name may have thousands. */
const TRIED_ADDRESSES_MAX = 8;
/** The next address is tried as well after this time. */
const NEXT_ADDRESS_AFTER_MS = 2_000;

/**
 * Protects this machine and its network from webhooks. Every address of a name must be allowed, and
 * connections go only to the addresses that were checked.
 */
export class EndpointGuard {
  private readonly allowed: AllowedAddresses;
  private readonly lookup: FindAddresses;

  constructor({ allowed, lookup = findAddressesFrom() }: EndpointGuardOptions) {
    this.allowed = new AllowedAddresses(allowed);
    this.lookup = lookup;
  }

  /**
   * Whether the URL may be subscribed. An unresolvable name is allowed: it may exist later, and
   * every connection is checked again.
   */
  async check(endpointUrl: string): Promise<EndpointCheck> {
    const parsed = parseEndpoint(endpointUrl);
    if ('problem' in parsed) return { kind: 'malformed', reason: parsed.problem };
    if (!isPortAllowed(parsed.url.port))
      return { kind: 'not-allowed', reason: 'must have the port 80, 443 or one above 1023' };
    try {
      await this.addressesOf(hostOf(parsed.url));
      return { kind: 'allowed' };
    } catch (error) {
      if (error instanceof NameNotResolved) return { kind: 'allowed' };
      if (error instanceof AddressNotAllowed) return { kind: 'not-allowed', reason: error.message };
      throw error;
    }
  }

  /** Connects to allowed addresses only; fails with the errors of `addressesOf` as well. */
  connector({ withinMs, trusted }: ConnectorOptions): buildConnector.connector {
    const connect = buildConnector({
      timeout: withinMs,
      lookup: this.checkedLookup(),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
      ...(trusted === undefined ? {} : { ca: trusted }),
    });
    return (options, callback) => {
      // Node calls `lookup` for names only.
      const isAddress = isIP(options.hostname) > 0;
      if (!isPortAllowed(options.port) || (isAddress && !this.allowed.includes(options.hostname))) {
        callback(notAllowed(), null);
        return;
      }
      connect(options, callback);
    };
  }

  /**
   * @throws {AddressNotAllowed} when any address is not allowed
   * @throws {NameNotResolved}
   */
  private async addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) > 0) return this.ensureAllowed([host]);
    if (LOOPBACK_NAME.test(host))
      return this.ensureAllowed(LOOPBACK.filter((address) => this.allowed.includes(address)));
    return this.ensureAllowed(await this.lookup(host));
  }

  private ensureAllowed(addresses: readonly string[]): readonly string[] {
    if (addresses.length === 0 || !addresses.every((address) => this.allowed.includes(address)))
      throw notAllowed();
    return addresses;
  }

  private checkedLookup(): LookupFunction {
    return (host, { all }, callback) => {
      this.addressesOf(host).then(
        (addresses) => {
          const tried = addresses
            .slice(0, TRIED_ADDRESSES_MAX)
            .map((address) => ({ address, family: isIP(address) }));
          const [first = { address: '', family: 0 }] = tried;
          if (all) callback(null, tried);
          else callback(null, first.address, first.family);
        },
        (error: unknown) => callback(error instanceof Error ? error : notAllowed(), ''),
      );
    };
  }
}

/** Refuses ports of other services, such as mail. @param port empty: the default of the scheme. */
const isPortAllowed = (port: string): boolean =>
  port === '' || port === '80' || port === '443' || Number(port) > 1_023;

const notAllowed = (): AddressNotAllowed =>
  new AddressNotAllowed(
    'must not lead to a private, loopback, link-local or otherwise reserved address',
  );
