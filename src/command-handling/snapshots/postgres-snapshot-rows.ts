import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { SubjectId } from '../../domain/personal.js';
import { fetchRow, run, tables } from '../../postgres/statements.js';
import type { SnapshotRow, SnapshotRows } from './snapshot-rows.js';

/** The rows of `ledger.stream_snapshots`. */
export class PostgresSnapshotRows implements SnapshotRows {
  constructor(private readonly pool: Pool) {}

  async find(stream: string): Promise<SnapshotRow | undefined> {
    const row = await fetchRow(
      this.pool,
      tables.selectFrom('ledger.stream_snapshots').selectAll().where('stream', '=', stream),
    );
    if (row === undefined) return undefined;
    const { version, revision, event_id: eventId, subjects, sealed } = row;
    return { stream, version, revision, eventId, subjects, sealed };
  }

  async keep({ stream, eventId, subjects, ...rest }: SnapshotRow): Promise<void> {
    const row = {
      ...rest,
      event_id: eventId,
      subjects: [...subjects],
      written_at: sql<Date>`now()`,
    };
    await run(
      this.pool,
      tables
        .insertInto('ledger.stream_snapshots')
        .values({ stream, ...row })
        .onConflict((conflict) => conflict.column('stream').doUpdateSet(row)),
    );
  }

  async drop(stream: string): Promise<void> {
    await run(this.pool, tables.deleteFrom('ledger.stream_snapshots').where('stream', '=', stream));
  }

  async dropOf(subjects: readonly SubjectId[]): Promise<void> {
    // Raw: the builder has no operator for lists with a common element.
    await run(
      this.pool,
      sql`delete from ledger.stream_snapshots where subjects && ${[...subjects]}::uuid[]`,
    );
  }
}
