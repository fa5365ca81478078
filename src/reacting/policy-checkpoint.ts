import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { parseWitness, witnessText } from '../event-log/witness.js';
import { CheckpointMoved } from '../following/handler.js';
import type { TrailPoint } from '../following/trail.js';
import { epochMs, fetchRow, now, run, tables } from '../postgres/statements.js';

/** All policies share one checkpoint. */
const NAME = 'policies';

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
  /** When it moved last, epoch milliseconds; undefined: unknown. */
  readonly movedAt?: number;
}

/** Where the checkpoint of the policies is stored. Every call throws while its store is away. */
export interface PolicyCheckpoints {
  load(): Promise<PolicyCheckpoint>;
  /**
   * Repeating a reaction is harmless, so that this need not be durable when it returns.
   * @throws {CheckpointMoved} when the stored checkpoint is not the one that `known` names.
   */
  write(position: Position, known: KnownCheckpoint): Promise<void>;
}

/** What is stored beside the position, and which checkpoint it replaces. */
export interface KnownCheckpoint extends Pick<PolicyCheckpoint, 'witness' | 'losses'> {
  /** The stored position as this process knows it; null: none. */
  readonly from: Position | null;
  /** Undefined: the stored one stays. */
  readonly trail: readonly TrailPoint[] | undefined;
}

export class PostgresPolicyCheckpoints implements PolicyCheckpoints {
  constructor(private readonly pool: Pool) {}

  load(): Promise<PolicyCheckpoint> {
    return loadPolicyCheckpoint(this.pool);
  }

  write(position: Position, known: KnownCheckpoint): Promise<void> {
    return writePolicyCheckpoint(this.pool, position, known);
  }
}

/** The position of the policies; null: none yet. @throws while the database is unavailable. */
export async function readPolicyCheckpoint(db: Pool | PoolClient): Promise<Position | null> {
  return (await loadPolicyCheckpoint(db)).position;
}

/** @throws while the database is unavailable. */
export async function loadPolicyCheckpoint(db: Pool | PoolClient): Promise<PolicyCheckpoint> {
  const row = await fetchRow(
    db,
    tables
      .selectFrom('ledger.policy_checkpoints')
      .select((eb) => [
        'position',
        'witness',
        'trail',
        'losses',
        epochMs(eb.ref('updated_at')).as('movedAt'),
      ])
      .where('name', '=', NAME),
  );
  if (row === undefined) return { position: null, witness: undefined, trail: [], losses: 0 };
  const trail = trailFrom(row.trail);
  const { position, losses, movedAt } = row;
  return { position, witness: parseWitness(row.witness), trail, losses, movedAt };
}

export interface StoredPoint {
  readonly reached: string;
  readonly witness: string;
}

/**
 * Repeating a reaction is harmless, so the checkpoint need not wait for the disk.
 * @param known other values to store; undefined: the stored ones stay, and do not describe this
 * position.
 * @throws {CheckpointMoved}
 */
export async function writePolicyCheckpoint(
  pool: Pool,
  position: Position,
  known?: KnownCheckpoint,
): Promise<void> {
  const values = {
    position,
    witness: known?.witness ? witnessText(known.witness) : null,
    trail: known?.trail && trailText(known.trail),
  };
  const written = await run(
    pool,
    tables
      .with('asynchronous', (db) =>
        db.selectNoFrom(sql`set_config('synchronous_commit', 'off', true)`.as('setting')),
      )
      .insertInto('ledger.policy_checkpoints')
      .columns(['name', 'position', 'witness', 'trail'])
      .expression((eb) =>
        eb
          .selectFrom('asynchronous')
          .select([
            sql<string>`${NAME}`.as('name'),
            sql<string>`${position}`.as('position'),
            sql<string | null>`${values.witness}`.as('witness'),
            sql<string>`${values.trail ?? '[]'}::jsonb`.as('trail'),
          ]),
      )
      .onConflict((conflict) =>
        conflict
          .column('name')
          // Undefined: stays. A turn that ends writes its position again, which is no move.
          .doUpdateSet((eb) => ({
            ...values,
            updated_at: eb
              .case()
              .when('ledger.policy_checkpoints.position', '=', position)
              .then(eb.ref('ledger.policy_checkpoints.updated_at'))
              .else(now)
              .end(),
          }))
          .where((eb) =>
            known
              ? eb.and([
                  eb('ledger.policy_checkpoints.losses', '=', known.losses),
                  eb('ledger.policy_checkpoints.position', 'is not distinct from', known.from),
                ])
              : eb.lit(true),
          ),
      ),
  );
  if (written !== 1) throw new CheckpointMoved(NAME);
}

/** A stored trail. */
export const trailFrom = (stored: readonly StoredPoint[]): TrailPoint[] =>
  stored.flatMap(({ reached, witness: text }) => {
    const witness = parseWitness(text);
    return witness === undefined ? [] : [{ reached, witness }];
  });

/** As JSON, to be stored. */
export const trailText = (trail: readonly TrailPoint[]): string =>
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
  await run(
    client,
    tables
      .updateTable('ledger.policy_checkpoints')
      .set((eb) => ({
        position: to?.reached ?? null,
        witness: to ? witnessText(to.witness) : null,
        trail: trailText(trail),
        losses: eb('losses', '+', 1),
        updated_at: now,
      }))
      .where('name', '=', NAME),
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
  await run(client, tables.deleteFrom('ledger.policy_checkpoints').where('name', '=', NAME));
  if (position !== null)
    await run(
      client,
      tables.insertInto('ledger.policy_checkpoints').values({ name: NAME, position }),
    );
}
