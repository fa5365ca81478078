import { sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Position, SeenEvent } from '../event-log/event-log.js';
import { parseWitness, witnessText } from '../event-log/witness.js';
import { epochMs, fetchRow, now, run, tables } from '../postgres/statements.js';
import { CheckpointMoved } from './handler.js';
import type { TrailPoint } from './trail.js';

export interface HandlerCheckpoint {
  /** Null: before the first event. */
  readonly position: Position | null;
  /** An event that was in the log when it was written. Undefined: unknown. */
  readonly witness: SeenEvent | undefined;
  /** Earlier checkpoints, oldest first. */
  readonly trail: readonly TrailPoint[];
  /** Grows with every write. */
  readonly version: bigint;
  /** Last move, epoch milliseconds. */
  readonly movedAt: number;
}

/** The place to move to. */
export interface CheckpointMove {
  readonly reached: Position;
  readonly witness: SeenEvent | undefined;
  /** Undefined: the stored one stays. */
  readonly trail: readonly TrailPoint[] | undefined;
}

const TABLE = 'ledger.handler_checkpoints';

/** Undefined: none is stored. @throws while the database is unavailable. */
export async function loadCheckpoint(
  db: Pool | PoolClient,
  name: string,
): Promise<HandlerCheckpoint | undefined> {
  const row = await fetchRow(
    db,
    tables
      .selectFrom(TABLE)
      .select((eb) => [
        'position',
        'witness',
        'trail',
        'version',
        epochMs(eb.ref('updated_at')).as('movedAt'),
      ])
      .where('name', '=', name),
  );
  if (row === undefined) return undefined;
  const trail = row.trail.flatMap(({ reached, witness: text }) => {
    const witness = parseWitness(text);
    return witness === undefined ? [] : [{ reached, witness }];
  });
  return { ...row, witness: parseWitness(row.witness), trail };
}

/** Stores the first checkpoint. @returns false: one exists by now. */
export async function beginCheckpoint(
  db: Pool | PoolClient,
  name: string,
  position: Position | null,
): Promise<boolean> {
  const begun = await run(
    db,
    tables
      .insertInto(TABLE)
      .values({ name, position })
      .onConflict((conflict) => conflict.doNothing()),
  );
  return begun === 1;
}

/**
 * Moves it, in the caller's transaction if there is one. A crash of the server may undo it together
 * with other writes of the transaction: the events are handled again.
 * @param to undefined: only its version grows.
 * @returns the new version.
 * @throws {CheckpointMoved} when the stored version is another one.
 */
export async function moveCheckpoint(
  db: Pool | PoolClient,
  name: string,
  version: bigint,
  to?: CheckpointMove,
): Promise<bigint> {
  const moved = await run(
    db,
    tables
      .with('asynchronous', (with_) =>
        with_.selectNoFrom(sql`set_config('synchronous_commit', 'off', true)`.as('setting')),
      )
      .updateTable(TABLE)
      .from('asynchronous')
      .set((eb) => ({
        version: eb('version', '+', 1n),
        ...(to && {
          position: to.reached,
          witness: to.witness ? witnessText(to.witness) : null,
          updated_at: now,
          ...(to.trail && { trail: trailText(to.trail) }),
        }),
      }))
      .where('name', '=', name)
      .where('version', '=', version),
  );
  if (moved !== 1) throw new CheckpointMoved(name);
  return version + 1n;
}

/** Overwrites it after a loss or a change of the log. @returns whether it exists. */
export async function placeCheckpoint(
  client: PoolClient,
  name: string,
  { position, trail }: Pick<HandlerCheckpoint, 'position' | 'trail'>,
): Promise<boolean> {
  const witness = trail.at(-1)?.witness;
  const placed = await run(
    client,
    tables
      .updateTable(TABLE)
      .set((eb) => ({
        position,
        witness: witness ? witnessText(witness) : null,
        trail: trailText(trail),
        version: eb('version', '+', 1n),
        updated_at: now,
      }))
      .where('name', '=', name),
  );
  return placed === 1;
}

/** JSON to store. */
const trailText = (trail: readonly TrailPoint[]): string =>
  JSON.stringify(trail.map(({ reached, witness }) => ({ reached, witness: witnessText(witness) })));
