import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { timeNow } from '../foundation/world.js';
import { openBytes } from '../privacy/subject-keys.js';
import type { TenantDirectory } from './tenant-directory.js';

/** A secret that verifies user tokens. `id` names it in the ledger. */
export interface TokenSecret {
  readonly id: string;
  readonly mode: Mode;
  /**
   * A key object of the UTF-8 bytes that the tenant received: given bytes, the library tries to
   * parse a PEM document for every token, which costs forty times as much.
   */
  readonly secret: KeyObject;
}

/** The sealing context of every signing secret of a mode. */
export const signingSecretContext = (mode: Mode): string => `signing-${mode}`;

/** Decrypts the secrets that verify user tokens: valid API keys and signing secrets. */
export class TokenSecrets {
  private readonly opened = new WeakMap<
    OpenTenant,
    readonly (TokenSecret & { readonly validUntil: number | null })[]
  >();

  constructor(
    private readonly tenants: Pick<TenantDirectory, 'find' | 'readForRefusal'>,
    private readonly sealingKey: Buffer,
    private readonly clock: () => number = timeNow,
  ) {}

  /**
   * The result of `verify` on the cached tenant and its secrets. A failure is verified again on the
   * tenant as the log has it, unless the cached one was read just now: a new key is valid at once,
   * and every failure takes the same path.
   */
  async verify<T>(
    alias: string,
    verify: (secrets: readonly TokenSecret[], tenant: OpenTenant) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = await this.tenants.find(alias);
    const verified = known && (await verify(this.of(known), known));
    if (verified !== undefined) return verified;
    const now = await this.tenants.readForRefusal(alias);
    return now && verify(this.of(now), now);
  }

  /** The valid secrets: signing secrets first, of these the newest first. */
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
      ...signingSecrets
        .map(({ secretId: id, mode, sealed, validUntil }) => ({
          id,
          mode,
          secret: opened(sealed, signingSecretContext(mode)),
          validUntil,
        }))
        .reverse(),
      ...keys.map(({ keyId: id, mode, sealed, validUntil }) => ({
        id,
        mode,
        secret: opened(sealed, id),
        validUntil,
      })),
    ];
  }
}
