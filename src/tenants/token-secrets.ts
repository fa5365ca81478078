import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Mode } from '../domain/scope.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import { timeNow } from '../foundation/world.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
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

/** The context of a sealed API key. The id is the event's own. */
export const apiKeyContext = (alias: string, keyId: string): string =>
  JSON.stringify(['api-key', alias, keyId]);

/** The context of a sealed signing secret. */
export const signingSecretContext = (
  alias: string,
  { secretId, mode }: { readonly secretId: string; readonly mode: Mode },
): string => JSON.stringify(['signing-secret', alias, secretId, mode]);

/** Decrypts the secrets that verify user tokens: valid API keys and signing secrets. */
export class TokenSecrets {
  private readonly opened = new WeakMap<
    OpenTenant,
    readonly (TokenSecret & { readonly validUntil: number | null })[]
  >();

  constructor(
    private readonly tenants: Pick<TenantDirectory, 'find' | 'read'>,
    private readonly sealer: Sealer,
    private readonly clock: () => number = timeNow,
  ) {}

  /**
   * The result of `verify` on the cached tenant and its secrets. A failure is verified again on the
   * tenant as the log has it: a new key is valid immediately.
   */
  async verify<T>(
    alias: string,
    verify: (secrets: readonly TokenSecret[], tenant: OpenTenant) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = await this.tenants.find(alias);
    const verified = known && (await verify(await this.of(known), known));
    if (verified !== undefined) return verified;
    const now = await this.tenants.read(alias);
    return now && verify(await this.of(now), now);
  }

  /** The valid secrets: signing secrets first, of these the newest first. */
  async of(tenant: OpenTenant): Promise<readonly TokenSecret[]> {
    const now = this.clock();
    const all = this.opened.get(tenant) ?? (await this.open(tenant));
    this.opened.set(tenant, all);
    return all.filter(({ validUntil }) => validUntil === null || validUntil > now);
  }

  private async open({ alias, keys, signingSecrets }: OpenTenant) {
    const opened = async (sealed: string, context: string): Promise<KeyObject> =>
      createSecretKey(await this.sealer.open(Buffer.from(sealed, 'base64'), context));
    return Promise.all([
      ...signingSecrets
        .map(async (issued) => ({
          id: issued.secretId,
          mode: issued.mode,
          secret: await opened(issued.sealed, signingSecretContext(alias, issued)),
          validUntil: issued.validUntil,
        }))
        .reverse(),
      ...keys.map(async ({ keyId: id, mode, sealed, validUntil }) => ({
        id,
        mode,
        secret: await opened(sealed, apiKeyContext(alias, id)),
        validUntil,
      })),
    ]);
  }
}
