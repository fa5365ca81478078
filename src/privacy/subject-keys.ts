import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { SubjectId } from '../domain/personal.js';
import { compiledOnce, fetchRows, run, tables, type Given } from '../postgres/statements.js';

/**
 * One AES-256 key per person (and per account, for what identifies the account), wrapped with a key
 * derived from the master key. Destroying a key forgets its subject: what it encrypted can never be
 * read again, backups of the log included.
 */
export interface SubjectKeys {
  /** Keys by subject; null: destroyed or never made. */
  load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
  /**
   * Like `read`, but subjects without a key receive one, durably, before this returns. A destroyed
   * key stays destroyed.
   */
  loadOrCreate(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
  /**
   * Destroys keys for good and durably, also of subjects without a key: none is made for them
   * later. Idempotent.
   */
  destroy(subjects: readonly SubjectId[]): Promise<void>;
  /**
   * Evicts these subjects (undefined: all) from the cache: another process may have destroyed their
   * keys.
   */
  forget(subjects?: Iterable<SubjectId>): void;
}

const CACHED_KEYS_MAX = 50_000;

const FIND = compiledOnce(
  'subject_keys.find',
  ({ subjects }: Given<{ readonly subjects: readonly SubjectId[] }>) =>
    tables
      .selectFrom('vault.subject_keys')
      .select(['subject', 'wrapped'])
      .where((eb) => eb('subject', '=', eb.fn.any(subjects))),
);

/** Raw SQL: the builder has no `unnest` of two lists. */
const creation = (
  subjects: readonly SubjectId[],
  wrapped: readonly Buffer[],
): RawBuilder<unknown> =>
  sql`insert into vault.subject_keys (subject, wrapped)
      select * from unnest(${subjects}::uuid[], ${wrapped}::bytea[])
      on conflict (subject) do nothing`;

/** Raw SQL: one row per element of a list. */
const destruction = (subjects: readonly SubjectId[]): RawBuilder<unknown> =>
  sql`insert into vault.subject_keys as known (subject, wrapped, destroyed_at)
      select subject, null, now() from unnest(${subjects}::uuid[]) as gone (subject) order by subject
      on conflict (subject) do update set wrapped = null, destroyed_at = now()
      where known.wrapped is not null`;

export class PostgresSubjectKeys implements SubjectKeys {
  // Only existing keys: another process may make a missing one at any moment.
  private readonly cache = new LRUCache<SubjectId, Buffer>({ max: CACHED_KEYS_MAX });
  /** A key that was read across an eviction is not cached. */
  private forgets = 0;

  constructor(
    private readonly pool: Pool,
    private readonly wrappingKey: Buffer,
  ) {}

  async load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const keys = new Map<SubjectId, Buffer | null>();
    for (const subject of subjects) keys.set(subject, this.cache.get(subject) ?? null);
    const missing = [...keys].filter(([, key]) => key === null).map(([subject]) => subject);
    if (missing.length === 0) return keys;
    const before = this.forgets;
    const rows = await fetchRows(this.pool, FIND({ subjects: missing }));
    for (const { subject, wrapped } of rows) {
      if (wrapped === null) continue;
      const key = openBytes(this.wrappingKey, wrapped, subject);
      if (this.forgets === before) this.cache.set(subject, key);
      keys.set(subject, key);
    }
    return keys;
  }

  async loadOrCreate(
    subjects: Iterable<SubjectId>,
  ): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const known = await this.load(subjects);
    // In one order everywhere: two processes that make keys of the same people cannot deadlock.
    const missing = [...known]
      .filter(([, key]) => key === null)
      .map(([subject]) => subject)
      .sort();
    if (missing.length === 0) return known;
    const wrapped = missing.map((subject) => sealBytes(this.wrappingKey, randomBytes(32), subject));
    await run(this.pool, creation(missing, wrapped));
    // Read back: another process may have been first, and a destroyed key must stay destroyed.
    return this.load(known.keys());
  }

  async destroy(subjects: readonly SubjectId[]): Promise<void> {
    // In the same order as when they are made.
    await run(this.pool, destruction([...new Set(subjects)].sort()));
    this.forget(subjects);
  }

  forget(subjects?: Iterable<SubjectId>): void {
    this.forgets++;
    if (subjects === undefined) this.cache.clear();
    else for (const subject of subjects) this.cache.delete(subject);
  }
}

/**
 * AES-256-GCM; the result is nonce, tag and ciphertext. `context` must be the same when opening.
 */
export function sealBytes(key: Buffer, plain: Buffer, context: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** @throws when key or context differ, or the bytes were changed. */
export function openBytes(key: Buffer, sealed: Buffer, context: string): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(12, 28));
  const plain = decipher.update(sealed.subarray(28));
  // Returns no bytes in this mode; it checks the tag, so nothing is returned before.
  decipher.final();
  return plain;
}
