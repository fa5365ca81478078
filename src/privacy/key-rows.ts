import { sql, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import type { SubjectId } from '../domain/personal.js';
import { batched } from '../foundation/batched.js';
import { compiledOnce, fetchRows, run, tables, type Given } from '../postgres/statements.js';

/** A subject's wrapped key; null: destroyed. */
export interface KeyRow {
  readonly subject: SubjectId;
  readonly wrapped: Buffer | null;
}

interface MadeKey {
  readonly subject: SubjectId;
  readonly wrapped: Buffer;
}

const FIND = compiledOnce(
  'subject_keys.find',
  ({ subjects }: Given<{ readonly subjects: readonly SubjectId[] }>) =>
    tables
      .selectFrom('vault.subject_keys')
      .select(['subject', 'wrapped'])
      .where((eb) => eb('subject', '=', eb.fn.any(subjects))),
);

/** Raw SQL: the builder has no `unnest` of two lists. */
const creation = (rows: readonly MadeKey[]): RawBuilder<unknown> =>
  sql`insert into vault.subject_keys (subject, wrapped)
      select * from unnest(${rows.map(({ subject }) => subject)}::uuid[], ${rows.map(({ wrapped }) => wrapped)}::bytea[])
      on conflict (subject) do nothing`;

/** Raw SQL: one row per element of a list. */
const destruction = (subjects: readonly SubjectId[]): RawBuilder<unknown> =>
  sql`insert into vault.subject_keys as known (subject, wrapped, destroyed_at)
      select subject, null, now() from unnest(${subjects}::uuid[]) as gone (subject) order by subject
      on conflict (subject) do update set wrapped = null, destroyed_at = now()
      where known.wrapped is not null`;

/** The rows of `vault.subject_keys`, one per subject. Every change is durable when it returns. */
export class PostgresKeyRows {
  constructor(private readonly pool: Pool) {}

  /** Subjects without a row are left out. Concurrent calls share a statement. */
  readonly find = batched<readonly SubjectId[], readonly KeyRow[]>(async (calls) => {
    const rows = await fetchRows(this.pool, FIND({ subjects: calls.flat() }));
    const found = new Map<SubjectId, KeyRow>(rows.map((row) => [row.subject, row]));
    return calls.map((subjects) => subjects.flatMap((subject) => found.get(subject) ?? []));
  });

  /** A subject that has a row keeps it. Concurrent calls share a statement, and its commit. */
  readonly create = batched<readonly MadeKey[], void>(async (calls) => {
    // In one order: two processes that make keys of the same people cannot deadlock.
    const rows = calls.flat().sort((a, b) => (a.subject < b.subject ? -1 : 1));
    await run(this.pool, creation(rows));
    return calls.map(() => undefined);
  });

  /** Subjects without a row get one, without a key. */
  async destroy(subjects: readonly SubjectId[]): Promise<void> {
    await run(this.pool, destruction(subjects));
  }
}

export type KeyRows = Pick<PostgresKeyRows, 'find' | 'create' | 'destroy'>;
