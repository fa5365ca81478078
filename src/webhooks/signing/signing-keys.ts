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

/** A key that signs webhooks. */
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

/** A key set (RFC 7517). */
export interface PublicKeySet {
  readonly keys: readonly PublicKey[];
}

const TABLE = 'ledger.webhook_signing_keys';
const MODULUS_BITS = 2_048;

const CURRENT = compiledOnce('webhook_signing_keys.current', () =>
  tables.selectFrom(TABLE).select(['kid', 'sealed']).where('served_until', 'is', null),
);

/**
 * The RSA keys that sign the webhooks of all tenants, sealed in Postgres. The first one is made
 * when it is needed. Every method throws while the database is unavailable.
 */
export class SigningKeys {
  private opened: SigningKey | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly sealer: Sealer,
  ) {}

  /** The key that signs now. It is read at every call: a rotation counts at once everywhere. */
  async current(): Promise<SigningKey> {
    const row = (await fetchRow(this.pool, CURRENT({}))) ?? (await this.first());
    if (this.opened?.kid !== row.kid) this.opened = await this.open(row);
    return this.opened;
  }

  /** The public keys that signatures may have: the current one first, and those in their grace. */
  async jwks(): Promise<PublicKeySet> {
    const keys = await this.served();
    if (keys.length > 0) return { keys };
    // Receivers may fetch the keys before there is a webhook.
    await this.first();
    return { keys: await this.served() };
  }

  /**
   * Makes a new current key. The one before signs no more, and is served for the grace.
   * @param by a member of staff, as shown.
   */
  async rotate(graceMs: number, by: string): Promise<{ readonly kid: string }> {
    const made = await this.make(by);
    await inTransaction(this.pool, async (client) => {
      // Rotations take turns; readers do not wait. The builder has no word for it.
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
    // Another process may have been first.
    return (await fetchRow(this.pool, CURRENT({}))) ?? made;
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
