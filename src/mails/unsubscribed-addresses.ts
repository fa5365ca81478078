import { sql } from 'kysely';
import type { Scope } from '../domain/scope.js';
import { sameAddress } from '../foundation/mail-address.js';
import { fetchRows, run, type Connection } from '../postgres/statements.js';
import type { KeyedNames } from '../privacy/keyed-names.js';

/** Addresses without further mails of a tenant and mode, for all users who share them. */
export class UnsubscribedAddresses {
  constructor(
    private readonly pool: Connection,
    private readonly names: Pick<KeyedNames, 'digest'>,
  ) {}

  /** Idempotent. */
  async add(scope: Scope, address: string): Promise<void> {
    const { tenant, mode } = scope;
    await run(
      this.pool,
      sql`
        insert into ledger.unsubscribed_addresses (tenant, mode, address)
        values (${tenant}, ${mode}, ${this.digestOf(scope, address)})
        on conflict do nothing`,
    );
  }

  async has(scope: Scope, address: string): Promise<boolean> {
    const { tenant, mode } = scope;
    const found = await fetchRows(
      this.pool,
      sql`
        select 1 from ledger.unsubscribed_addresses
        where tenant = ${tenant} and mode = ${mode} and address = ${this.digestOf(scope, address)}`,
    );
    return found.length > 0;
  }

  private digestOf({ tenant, mode }: Scope, address: string): string {
    return this.names.digest('unsubscribed address', tenant, mode, sameAddress(address));
  }
}
