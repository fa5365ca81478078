import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { SubjectId } from '../domain/personal.js';

/**
 * One AES-256 key per person (and per account, for what identifies the account), wrapped with a key derived from the master key.
 * Destroying a key is how somebody is forgotten: what it encrypted can no longer be read anywhere, backups of the log included.
 */
export interface SubjectKeys {
  /** Keys by subject; null for one that was destroyed or never was. */
  load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
  /** The same, but subjects that never had a key get one, durably, before this returns. A destroyed key stays destroyed. */
  loadOrCreate(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
}

const CACHED_KEYS_MAX = 50_000;

export class PostgresSubjectKeys implements SubjectKeys {
  // Only keys that exist: one that does not may be made by another process at any moment.
  private readonly cache = new LRUCache<SubjectId, Buffer>({ max: CACHED_KEYS_MAX });

  constructor(
    private readonly pool: Pool,
    private readonly wrappingKey: Buffer,
  ) {}

  async load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const keys = new Map<SubjectId, Buffer | null>();
    for (const subject of subjects) keys.set(subject, this.cache.get(subject) ?? null);
    const missing = [...keys].filter(([, key]) => key === null).map(([subject]) => subject);
    if (missing.length === 0) return keys;
    const { rows } = await this.pool.query<{ subject: string; wrapped: Buffer | null }>(
      'select subject, wrapped from vault.subject_keys where subject = any($1::uuid[])',
      [missing],
    );
    for (const { subject, wrapped } of rows) {
      if (wrapped === null) continue;
      const key = openBytes(this.wrappingKey, wrapped, subject);
      this.cache.set(subject, key);
      keys.set(subject, key);
    }
    return keys;
  }

  async loadOrCreate(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const known = await this.load(subjects);
    // In one order everywhere: two processes that make the keys of the same people do not wait for each other.
    const missing = [...known]
      .filter(([, key]) => key === null)
      .map(([subject]) => subject)
      .sort();
    if (missing.length === 0) return known;
    const wrapped = missing.map((subject) => sealBytes(this.wrappingKey, randomBytes(32), subject));
    await this.pool.query(
      'insert into vault.subject_keys (subject, wrapped) select * from unnest($1::uuid[], $2::bytea[]) on conflict (subject) do nothing',
      [missing, wrapped],
    );
    // Read back: another process may have been first, and a destroyed key must not come to life again.
    return this.load(known.keys());
  }
}

/** AES-256-GCM; the result is nonce, tag and ciphertext. `context` must be the same when opening. */
export function sealBytes(key: Buffer, plain: Buffer, context: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** @throws when the key or the context is another one, or the bytes were changed. */
export function openBytes(key: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28));
  return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]);
}
