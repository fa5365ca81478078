import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { parseWitness, witnessText } from '../event-log/witness.js';

/** All policies share one checkpoint. */
const NAME = 'policies';

/**
 * An earlier checkpoint of the policies, and the newest event that the leader had seen then: their
 * reactions up to it are all at or before that event.
 */
export interface TrailPoint {
  readonly reached: Position;
  readonly witness: SeenEvent;
}

/** The checkpoint of the policies. */
export interface PolicyCheckpoint {
  /** Null: before the first event. */
  readonly position: Position | null;
  /** Undefined: unknown. */
  readonly witness: SeenEvent | undefined;
  /** Oldest first. */
  readonly trail: readonly TrailPoint[];
  /** How often policies were moved back. */
  readonly losses: number;
}

/**
 * Another process moved the policies back since this one leads: its position belongs to a lost part
 * of the log.
 */
export class PoliciesMovedBack extends Error {
  override readonly name = 'PoliciesMovedBack';
}

/** The position of the policies; null: none yet. @throws while the database is unavailable. */
export async function readPolicyCheckpoint(db: Pool | PoolClient): Promise<Position | null> {
  return (await loadPolicyCheckpoint(db)).position;
}

/** @throws while the database is unavailable. */
export async function loadPolicyCheckpoint(db: Pool | PoolClient): Promise<PolicyCheckpoint> {
  const { rows } = await db.query<{
    position: string | null;
    witness: string | null;
    trail: readonly StoredPoint[];
    losses: number;
  }>('select position, witness, trail, losses from ledger.policy_checkpoints where name = $1', [
    NAME,
  ]);
  const [row] = rows;
  if (row === undefined) return { position: null, witness: undefined, trail: [], losses: 0 };
  const trail = row.trail.flatMap(({ reached, witness: text }) => {
    const witness = parseWitness(text);
    return witness === undefined ? [] : [{ reached, witness }];
  });
  return { position: row.position, witness: parseWitness(row.witness), trail, losses: row.losses };
}

interface StoredPoint {
  readonly reached: string;
  readonly witness: string;
}

/**
 * Repeating a reaction is harmless, so the checkpoint need not wait for the disk.
 * @param known other values to store; undefined: the stored ones stay, and do not describe this
 * position.
 * @throws {PoliciesMovedBack}
 */
export async function writePolicyCheckpoint(
  pool: Pool,
  position: Position,
  known?: Pick<PolicyCheckpoint, 'witness' | 'losses'> & {
    readonly trail: readonly TrailPoint[] | undefined;
  },
): Promise<void> {
  const { rowCount } = await pool.query(
    `with asynchronous as (select set_config('synchronous_commit', 'off', true))
     insert into ledger.policy_checkpoints as known (name, position, witness, trail) select $1, $2, $3, coalesce($4::jsonb, '[]') from asynchronous
     on conflict (name) do update set position = excluded.position, witness = excluded.witness, trail = coalesce($4::jsonb, known.trail),
       updated_at = now()
     where $5::integer is null or known.losses = $5`,
    [
      NAME,
      position,
      known?.witness ? witnessText(known.witness) : null,
      known?.trail ? trailText(known.trail) : null,
      known?.losses ?? null,
    ],
  );
  if (rowCount !== 1) throw new PoliciesMovedBack();
}

const trailText = (trail: readonly TrailPoint[]): string =>
  JSON.stringify(
    trail.map(({ reached, witness }): StoredPoint => ({ reached, witness: witnessText(witness) })),
  );

/**
 * Moves the policies back to this point; undefined: before the first event. Within the caller's
 * transaction.
 */
export async function movePoliciesBack(
  client: PoolClient,
  to: TrailPoint | undefined,
  trail: readonly TrailPoint[],
): Promise<void> {
  await client.query(
    `update ledger.policy_checkpoints set position = $2, witness = $3, trail = $4, losses = losses + 1, updated_at = now() where name = $1`,
    [NAME, to?.reached ?? null, to ? witnessText(to.witness) : null, trailText(trail)],
  );
}

/**
 * Moves the policies to this position of another log; null: before its first event. Within the
 * caller's transaction.
 */
export async function replacePolicyCheckpoint(
  client: PoolClient,
  position: Position | null,
): Promise<void> {
  await client.query('delete from ledger.policy_checkpoints where name = $1', [NAME]);
  if (position !== null)
    await client.query('insert into ledger.policy_checkpoints (name, position) values ($1, $2)', [
      NAME,
      position,
    ]);
}
