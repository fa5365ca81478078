import type { Mode } from '../domain/scope.js';

/** What the edge needs to know of a tenant. */
export interface Tenant {
  readonly alias: string;
  /** Off for a new tenant: the open endpoints answer 403 to everybody. */
  readonly openEndpoints: boolean;
  /** A tenant whose accounts come from a payment provider cannot write or read them here. */
  readonly programType: 'API_ONLY' | 'PAYMENT_PROVIDER';
}

/** An API key that was recognised: which half of the data it opens, and what names it in the ledger (never the key itself). */
export interface RecognisedKey {
  readonly mode: Mode;
  readonly keyId: string;
}

/** Who the tenants are and which keys are theirs. May reject when its store is away; the edge answers 503 then. */
export interface TenantDirectory {
  /** `alias` is well-formed (1 to 64 of `[a-z0-9_-]`); undefined: no such tenant. */
  find(alias: string): Promise<Tenant | undefined>;
  /** Undefined: not a key of this tenant. Compares in constant time. */
  authenticate(tenant: Tenant, key: string): Promise<RecognisedKey | undefined>;
}

export const isTenantAlias = (text: string): boolean => /^[a-z0-9_-]{1,64}$/.test(text);
