import type { SealedAddresses } from '../../domain/tenant/mail-settings.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import { sameAddress } from '../../foundation/mail-address.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Sealer } from '../../privacy/sealed-bytes.js';

export const TEST_ADDRESSES_MAX = 100;

/** Addresses that a tenant's test mode may send to, encrypted in the log. */
export class TestAddresses {
  constructor(
    private readonly sealer: Sealer,
    private readonly names: Pick<KeyedNames, 'digest'>,
  ) {}

  /** Null for an empty list. */
  async sealed(alias: string, addresses: readonly string[]): Promise<SealedAddresses | null> {
    if (addresses.length === 0) return null;
    const text = JSON.stringify([...new Set(addresses)]);
    const bytes = await this.sealer.seal(Buffer.from(text), contextOf(alias));
    const digest = this.names.digest('mail test addresses', alias, text);
    return { sealed: bytes.toString('base64'), digest };
  }

  async of({ alias, mails }: Pick<OpenTenant, 'alias' | 'mails'>): Promise<readonly string[]> {
    if (mails.testTo === null) return [];
    const bytes = Buffer.from(mails.testTo.sealed, 'base64');
    const opened = await this.sealer.open(bytes, contextOf(alias));
    return JSON.parse(opened.toString()) as readonly string[];
  }

  async has(tenant: Pick<OpenTenant, 'alias' | 'mails'>, address: string): Promise<boolean> {
    return (await this.of(tenant)).some((known) => sameAddress(known) === sameAddress(address));
  }
}

const contextOf = (alias: string): string => `mail test addresses ${alias}`;
