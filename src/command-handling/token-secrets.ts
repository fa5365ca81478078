import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { openBytes } from '../privacy/subject-keys.js';
import type { TenantDirectory } from './tenant-directory.js';

/** A secret that a user token may be signed with. `id` names it in the ledger. */
export interface TokenSecret {
  readonly id: string;
  readonly mode: Mode;
  /**
   * Of the UTF-8 bytes that the tenant was shown. Bytes alone would be tried as a PEM document
   * first, at every token: forty times the work.
   */
  readonly secret: KeyObject;
}

/** The context that a signing secret is sealed with. */
export const signingSecretContext = (mode: Mode): string => `signing-${mode}`;

/**
 * Opens what user tokens are verified with: the API keys that are still good, and the secrets that
 * were issued for signing.
 */
export class TokenSecrets {
  private readonly opened = new WeakMap<
    OpenTenant,
    readonly (TokenSecret & { readonly validUntil: number | null })[]
  >();

  constructor(
    private readonly tenants: Pick<TenantDirectory, 'find' | 'read'>,
    private readonly sealingKey: Buffer,
    private readonly clock: () => number = Date.now,
  ) {}

  /**
   * What `verify` makes of the tenant and its secrets. A "no" is made again on the tenant as the
   * log has it now: a key of a moment ago counts, and every "no" takes the same way.
   */
  async verify<T>(
    alias: string,
    verify: (secrets: readonly TokenSecret[], tenant: OpenTenant) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = await this.tenants.find(alias);
    const verified = known && (await verify(this.of(known), known));
    if (verified !== undefined) return verified;
    const now = await this.tenants.read(alias);
    return now && verify(this.of(now), now);
  }

  /** The secrets that are good at this moment, the signing secrets first. */
  of(tenant: OpenTenant): readonly TokenSecret[] {
    const now = this.clock();
    const all = this.opened.get(tenant) ?? this.open(tenant);
    this.opened.set(tenant, all);
    return all.filter(({ validUntil }) => validUntil === null || validUntil > now);
  }

  private open({ keys, signingSecrets }: OpenTenant) {
    const opened = (sealed: string, context: string): KeyObject =>
      createSecretKey(openBytes(this.sealingKey, Buffer.from(sealed, 'base64'), context));
    return [
      ...signingSecrets.map(({ mode, sealed }) => {
        const id = signingSecretContext(mode);
        return { id, mode, secret: opened(sealed, id), validUntil: null };
      }),
      ...keys.map(({ keyId: id, mode, sealed, validUntil }) => ({
        id,
        mode,
        secret: opened(sealed, id),
        validUntil,
      })),
    ];
  }
}
