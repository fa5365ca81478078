import type { KeyObject } from 'node:crypto';
import type { Mode } from '../../domain/scope.js';
import type { OpenRules } from '../../domain/tenant/open-rules.js';

/** The facts of a tenant that the edge needs. */
export interface Tenant {
  readonly alias: string;
  /** Off for a new tenant: the open endpoints answer 403. */
  readonly openEndpoints: boolean;
  readonly openRules: OpenRules;
  /** Every route of the tenant answers 403 after the credentials. */
  readonly isSuspended: boolean;
  /**
   * The accounts of such a tenant come from its payment provider: they cannot be written or read
   * here.
   */
  readonly programType: 'API_ONLY' | 'PAYMENT_PROVIDER';
}

/** A valid API key: its mode, and its id in the ledger (never the key itself). */
export interface RecognisedKey {
  readonly mode: Mode;
  readonly keyId: string;
}

/** A secret that may sign user tokens: its mode, and its id in the ledger. */
export interface TokenSecret {
  readonly id: string;
  readonly mode: Mode;
  readonly secret: KeyObject;
}

/** A tenant's rules on the times in its user tokens. */
export interface TokenTimes {
  /** A token without `exp` is refused. */
  readonly mustExpire: boolean;
  /** Tokens that were issued before are refused, epoch milliseconds; null: none is. */
  readonly notBefore: number | null;
}

/**
 * The tenants and their keys. May reject while its store is unavailable; the edge then answers 503.
 */
export interface TenantDirectory {
  /** `alias` is well-formed (1 to 64 of `[a-z0-9_-]`); undefined: unknown. */
  find(alias: string): Promise<Tenant | undefined>;
  /** Undefined: not a key of this tenant. Compares in constant time. */
  authenticate(tenant: Tenant, key: string): Promise<RecognisedKey | undefined>;
  /**
   * The result of `verify` with the tenant's secrets. A failure is verified again on the tenant as
   * the log has it, so that every failure takes the same time.
   */
  verifyToken<Verified>(
    tenant: Tenant,
    verify: (secrets: readonly TokenSecret[], times: TokenTimes) => Promise<Verified | undefined>,
  ): Promise<Verified | undefined>;
}
