import type { Pool, PoolClient } from 'pg';
import type { Position } from '../event-log/event-log.js';

/** All policies go along the log together. */
const NAME = 'policies';

/** How far reactions are; null: nothing yet. @throws when the database is away. */
export async function readPolicyCheckpoint(db: Pool | PoolClient): Promise<Position | null> {
  const { rows } = await db.query<{ position: string | null }>('select position from ledger.policy_checkpoints where name = $1', [NAME]);
  return rows[0]?.position ?? null;
}

/** Repeating a reaction is harmless, so the checkpoint need not wait for the disk. */
export async function writePolicyCheckpoint(pool: Pool, position: Position): Promise<void> {
  await pool.query(
    `with asynchronous as (select set_config('synchronous_commit', 'off', true))
     insert into ledger.policy_checkpoints (name, position) select $1, $2 from asynchronous
     on conflict (name) do update set position = excluded.position, updated_at = now()`,
    [NAME, position],
  );
}

/** Policies go on after this position of another log; null: from its beginning. Within the caller's transaction. */
export async function replacePolicyCheckpoint(client: PoolClient, position: Position | null): Promise<void> {
  await client.query('delete from ledger.policy_checkpoints where name = $1', [NAME]);
  if (position !== null) await client.query('insert into ledger.policy_checkpoints (name, position) values ($1, $2)', [NAME, position]);
}
