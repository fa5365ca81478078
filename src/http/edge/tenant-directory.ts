import type { KeyObject } from 'node:crypto';
import type { Mode } from '../../domain/scope.js';
import type { OpenRules } from '../../domain/tenant/open-rules.js';

/** What the edge needs to know of a tenant. */
export interface Tenant {
  readonly alias: string;
  /** Off for a new tenant: the open endpoints answer 403 to everybody. */
  readonly openEndpoints: boolean;
  readonly openRules: OpenRules;
  /** A tenant whose accounts come from a payment provider cannot write or read them here. */
  readonly programType: 'API_ONLY' | 'PAYMENT_PROVIDER';
}

/**
 * An API key that was recognised: which half of the data it opens, and what names it in the ledger
 * (never the key itself).
 */
export interface RecognisedKey {
  readonly mode: Mode;
  readonly keyId: string;
}

/**
 * What a user token may be signed with: which half of the data it opens, what names it in the
 * ledger.
 */
export interface TokenSecret {
  readonly id: string;
  readonly mode: Mode;
  readonly secret: KeyObject;
}

/**
 * Who the tenants are and which keys are theirs. May reject when its store is away; the edge
 * answers 503 then.
 */
export interface TenantDirectory {
  /** `alias` is well-formed (1 to 64 of `[a-z0-9_-]`); undefined: no such tenant. */
  find(alias: string): Promise<Tenant | undefined>;
  /** Undefined: not a key of this tenant. Compares in constant time. */
  authenticate(tenant: Tenant, key: string): Promise<RecognisedKey | undefined>;
  /**
   * What `verify` makes of the tenant's secrets. An undefined is tried again on the tenant as the
   * log has it now, so that every refusal takes the same time.
   */
  verifyToken<Verified>(
    tenant: Tenant,
    verify: (secrets: readonly TokenSecret[], mustExpire: boolean) => Promise<Verified | undefined>,
  ): Promise<Verified | undefined>;
}

export const isTenantAlias = (text: string): boolean => /^[a-z0-9_-]{1,64}$/.test(text);
