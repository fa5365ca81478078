import {
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type CryptoKey,
} from 'jose';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { compiledOnce, fetchRow, fetchRows, now, run, tables } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import type { Sealer } from '../../privacy/sealed-bytes.js';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
}

/** A public key of a key set (RFC 7517). */
export interface PublicKey {
  readonly kty: 'RSA';
  readonly use: 'sig';
  readonly alg: 'RS256';
  readonly kid: string;
  /** Modulus in base64url. */
  readonly n: string;
  /** Exponent in base64url. */
  readonly e: string;
}

export interface PublicKeySet {
  readonly keys: readonly PublicKey[];
}

const TABLE = 'ledger.webhook_signing_keys';
const MODULUS_BITS = 2_048;

const CURRENT_KEY = compiledOnce('webhook_signing_keys.current', () =>
  tables.selectFrom(TABLE).select(['kid', 'sealed']).where('served_until', 'is', null),
);

/**
 * The RSA keys that sign the webhooks of all tenants, encrypted in Postgres. The first one is made
 * on first use. Every method throws while the database is unavailable.
 */
export class SigningKeys {
  private opened: SigningKey | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /** The current key, read at every call, so that a rotation takes effect immediately. */
  async current(): Promise<SigningKey> {
    const row = (await fetchRow(this.pool, CURRENT_KEY({}))) ?? (await this.first());
    if (this.opened?.kid !== row.kid) this.opened = await this.open(row);
    return this.opened;
  }

  /** The public keys: the current one first, then those in their grace period. */
  async jwks(): Promise<PublicKeySet> {
    const keys = await this.served();
    if (keys.length > 0) return { keys };
    // Receivers may fetch the keys before the first webhook.
    await this.first();
    return { keys: await this.served() };
  }

  /** Makes a new current key; the previous one stays in the key set for the grace period. */
  async rotate(graceMs: number, by: string): Promise<{ readonly kid: string }> {
    const made = await this.make(by);
    await inTransaction(this.pool, async (client) => {
      // Excludes other rotations, not readers. Kysely cannot express it.
      await client.query(`lock table ${TABLE} in exclusive mode`);
      await run(
        client,
        tables
          .updateTable(TABLE)
          .set({
            sealed: null,
            served_until: sql<Date>`now() + make_interval(secs => ${graceMs / 1_000})`,
          })
          .where('served_until', 'is', null),
      );
      await run(client, tables.deleteFrom(TABLE).where('served_until', '<=', now));
      await run(client, tables.insertInto(TABLE).values(made));
    });
    return { kid: made.kid };
  }

  private async first(): Promise<{ readonly kid: string; readonly sealed: Buffer | null }> {
    const made = await this.make('service');
    await run(
      this.pool,
      tables
        .insertInto(TABLE)
        .values(made)
        .onConflict((conflict) => conflict.doNothing()),
    );
    // Another process may have inserted one first.
    return (await fetchRow(this.pool, CURRENT_KEY({}))) ?? made;
  }

  private async served(): Promise<readonly PublicKey[]> {
    const rows = await fetchRows(
      this.pool,
      tables
        .selectFrom(TABLE)
        .select(['kid', 'public_jwk as jwk'])
        .where((eb) => eb.or([eb('served_until', 'is', null), eb('served_until', '>', now)]))
        .orderBy('served_until', (order) => order.desc().nullsFirst()),
    );
    return rows.map(({ kid, jwk: { n, e } }) => ({
      kty: 'RSA',
      use: 'sig',
      alg: 'RS256',
      kid,
      n,
      e,
    }));
  }

  private async make(by: string) {
    const { publicKey, privateKey } = await generateKeyPair('RS256', {
      extractable: true,
      modulusLength: MODULUS_BITS,
    });
    const { n = '', e = '' } = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint({ kty: 'RSA', n, e });
    const sealed = await this.sealer.seal(Buffer.from(await exportPKCS8(privateKey)), kid);
    return { kid, public_jwk: JSON.stringify({ n, e }), sealed, created_by: by };
  }

  private async open({ kid, sealed }: { kid: string; sealed: Buffer | null }): Promise<SigningKey> {
    if (sealed === null) throw new Error('the current signing key of webhooks has no private key');
    const opened = await this.sealer.open(sealed, kid);
    const privateKey = await importPKCS8(opened.toString(), 'RS256');
    return { kid, privateKey };
  }
}
