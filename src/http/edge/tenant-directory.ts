import type { Mode } from '../../domain/scope.js';
import type { OpenRules } from '../../domain/tenant/open-rules.js';
import type { TokenSubject } from './user-token.js';

/** What the edge needs to know of a tenant. */
export interface Tenant {
  readonly alias: string;
  /** Off for a new tenant: the open endpoints answer 403 to everybody. */
  readonly openEndpoints: boolean;
  readonly openRules: OpenRules;
  /** A tenant whose accounts come from a payment provider cannot write or read them here. */
  readonly programType: 'API_ONLY' | 'PAYMENT_PROVIDER';
}

/** An API key that was recognised: which half of the data it opens, and what names it in the ledger (never the key itself). */
export interface RecognisedKey {
  readonly mode: Mode;
  readonly keyId: string;
}

/** A user token that was verified: the half of the data of the secret that signed it, and what names that secret in the ledger. */
export interface RecognisedToken extends RecognisedKey {
  readonly subject: TokenSubject;
}

/** Who the tenants are and which keys are theirs. May reject when its store is away; the edge answers 503 then. */
export interface TenantDirectory {
  /** `alias` is well-formed (1 to 64 of `[a-z0-9_-]`); undefined: no such tenant. */
  find(alias: string): Promise<Tenant | undefined>;
  /** Undefined: not a key of this tenant. Compares in constant time. */
  authenticate(tenant: Tenant, key: string): Promise<RecognisedKey | undefined>;
  /** Undefined: no good token of this tenant, for whatever reason; finding that out takes the same time for each. */
  verifyToken(tenant: Tenant, token: string): Promise<RecognisedToken | undefined>;
}

export const isTenantAlias = (text: string): boolean => /^[a-z0-9_-]{1,64}$/.test(text);
