import pg from 'pg';

/** A Postgres log that loses its end, as after a restore or a fail-over. */

/** @param keep position up to which events stay. */
export async function loseTail(sql: pg.Client | pg.Pool, keep: bigint | number): Promise<void> {
  const client = sql instanceof pg.Client ? sql : await sql.connect();
  try {
    await client.query('begin');
    // Like a server that returns without it: no append happens in between.
    await client.query(
      'lock table ledger.log_head, ledger.streams, ledger.events in exclusive mode',
    );
    await client.query('delete from ledger.events where position > $1', [keep]);
    await client.query(
      'delete from ledger.streams s where not exists (select from ledger.events e where e.stream = s.stream)',
    );
    await client.query(
      'update ledger.streams s set revision = last.revision from (select stream, max(revision) as revision from ledger.events group by stream) last where last.stream = s.stream and last.revision <> s.revision',
    );
    await client.query('update ledger.log_head set position = $1', [keep]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    if (client !== sql) (client as pg.PoolClient).release();
  }
}

/** Of a Postgres log: how many events stand up to there. */
export const numberOf = (position: string | null | undefined): number =>
  Number(position?.split('-')[1] ?? 0);
