import { LRUCache } from 'lru-cache';
import type { SubjectId } from '../domain/personal.js';
import { upToEntries } from '../foundation/up-to-entries.js';
import { newBytes } from '../foundation/world.js';
import type { KeyRows } from './key-rows.js';
import type { Sealer } from './sealed-bytes.js';

/**
 * One AES-256 key per person (and per account, for its identifying values), wrapped with a key
 * derived from the master key. Destroying a key forgets its subject: its values can never be read
 * again, backups of the log included.
 */
export interface SubjectKeys {
  /** Keys by subject; null: destroyed or never made. */
  load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
  /** As `load`, but makes missing keys, durably. A destroyed key stays destroyed. */
  loadOrCreate(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>>;
  /** Durable and final, also for subjects without a key. Idempotent. */
  destroy(subjects: readonly SubjectId[]): Promise<void>;
  /** Evicts these subjects (undefined: all) after another process destroyed keys. */
  forget(subjects?: Iterable<SubjectId>): void;
}

const CACHED_KEYS_MAX = 50_000;

export class WrappedKeys implements SubjectKeys {
  // Only existing keys: another process may make a missing one at any moment.
  private readonly cache = new LRUCache<SubjectId, Buffer>(upToEntries(CACHED_KEYS_MAX));
  /** A key that was read across an eviction is not cached. */
  private forgets = 0;

  constructor(
    private readonly rows: KeyRows,
    private readonly wrapping: Sealer,
  ) {}

  async load(subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const keys = new Map<SubjectId, Buffer | null>();
    for (const subject of subjects) keys.set(subject, this.cache.get(subject) ?? null);
    const missing = [...keys].filter(([, key]) => key === null).map(([subject]) => subject);
    if (missing.length === 0) return keys;
    const before = this.forgets;
    for (const { subject, wrapped } of await this.rows.find(missing)) {
      if (wrapped === null) continue;
      const key = await this.wrapping.open(wrapped, subject);
      if (this.forgets === before) this.cache.set(subject, key);
      keys.set(subject, key);
    }
    return keys;
  }

  async loadOrCreate(
    subjects: Iterable<SubjectId>,
  ): Promise<ReadonlyMap<SubjectId, Buffer | null>> {
    const known = await this.load(subjects);
    const missing = [...known].filter(([, key]) => key === null).map(([subject]) => subject);
    if (missing.length === 0) return known;
    await this.rows.create(
      await Promise.all(
        missing.map(async (subject) => ({
          subject,
          wrapped: await this.wrapping.seal(newBytes(32), subject),
        })),
      ),
    );
    // Read back: another process may have been first, and a destroyed key must stay destroyed.
    return this.load(known.keys());
  }

  async destroy(subjects: readonly SubjectId[]): Promise<void> {
    // In the same order as when they are made.
    await this.rows.destroy([...new Set(subjects)].sort());
    this.forget(subjects);
  }

  forget(subjects?: Iterable<SubjectId>): void {
    this.forgets++;
    if (subjects === undefined) this.cache.clear();
    else for (const subject of subjects) this.cache.delete(subject);
  }
}
