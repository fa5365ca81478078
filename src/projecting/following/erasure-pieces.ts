import type { Pool, PoolClient } from 'pg';
import { pause } from '../../foundation/pause.js';
import type { BatchRows } from '../batch-rows.js';
import { GenerationRefused, type GenerationRecord } from '../generations/generation-records.js';
import type { GenerationStore, NextPiece } from '../generations/generation-store.js';
import type { Forgetting, Forgotten, Lookup } from '../projector.js';

export const FIRST_PIECE: NextPiece = { lookup: 0, after: null };

/** Finds at most this many rows of a lookup, after the given row. */
export type FindRows = GenerationStore['find'];

/** A piece of an erasure whose rows are in memory. */
export interface FoundPiece {
  /** False: some dependents were not found yet. */
  readonly isWhole: boolean;
  /** Undefined: this was the last piece. */
  readonly next: NextPiece | undefined;
}

/** Loads a piece: at most `rowsMax` rows and as many dependents, announcing others. */
export async function findPiece(
  find: FindRows,
  rows: BatchRows,
  {
    forgetting,
    forgotten,
    begin,
    rowsMax,
  }: { forgetting: Forgetting; forgotten: Forgotten; begin: NextPiece; rowsMax: number },
): Promise<FoundPiece> {
  const lookups = forgetting.lookups(forgotten);
  const next = await runLookups(find, rows, { lookups, begin, rowsMax });
  const dependents = forgetting.dependents?.(forgotten, rows) ?? [];
  const missing = await runLookups(find, rows, {
    lookups: dependents,
    begin: FIRST_PIECE,
    rowsMax,
  });
  for (const key of forgetting.keys?.(forgotten, rows) ?? []) rows.announce(key);
  const isWhole = missing === undefined;
  // Some dependents are missing: these rows are cleaned with the next piece.
  return { isWhole, next: isWhole ? next : begin };
}

/** @returns where the next piece begins; undefined: all rows are found. */
async function runLookups(
  find: FindRows,
  rows: BatchRows,
  { lookups, begin, rowsMax }: { lookups: readonly Lookup[]; begin: NextPiece; rowsMax: number },
): Promise<NextPiece | undefined> {
  let left = rowsMax;
  for (const [number, lookup] of lookups.entries()) {
    if (number < begin.lookup) continue;
    const found = await find(lookup, left, number === begin.lookup ? begin.after : null);
    for (const row of found) rows.wasFound(lookup.table, row);
    const last = found.at(-1);
    if (last && found.length >= left)
      return { lookup: number, after: lookup.orderedBy?.map(({ column }) => last[column]) ?? null };
    left -= found.length;
  }
  return undefined;
}

/** Number of unfinished erasures in these generations. */
export async function countUnfinishedErasures(
  db: Pool | PoolClient,
  generations: readonly Pick<GenerationRecord, 'projection' | 'generation'>[],
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from ledger.projection_erasures
     join unnest($1::text[], $2::integer[]) as g (projection, generation) using (projection, generation)`,
    [
      generations.map(({ projection }) => projection),
      generations.map(({ generation }) => generation),
    ],
  );
  return rows[0]?.count ?? 0;
}

const LOOK_AGAIN_MS = 100;
const PATIENCE_MS = 15_000;

/** Ends on abort. @throws {GenerationRefused} when no process continues the erasures. */
export async function untilErasuresAreFinished(
  db: Pool | PoolClient,
  generations: readonly Pick<GenerationRecord, 'projection' | 'generation'>[],
  {
    signal,
    patienceMs = PATIENCE_MS,
  }: { readonly signal?: AbortSignal | undefined; readonly patienceMs?: number } = {},
): Promise<void> {
  let seen = '';
  let since = performance.now();
  while (!(signal?.aborted ?? false) && (await countUnfinishedErasures(db, generations)) > 0) {
    const { rows } = await db.query<{ pieces: string }>(
      `select string_agg(next_piece::text, ' ' order by projection, account_ref, erasure_id) || sum(c.version) as pieces
       from ledger.projection_erasures e join ledger.projection_checkpoints c using (projection, generation)
       where projection = any ($1::text[])`,
      [generations.map(({ projection }) => projection)],
    );
    const pieces = rows[0]?.pieces ?? '';
    if (pieces !== seen) since = performance.now();
    seen = pieces;
    if (performance.now() - since > patienceMs)
      throw new GenerationRefused(
        'an erasure is not complete in all rows, and no service continues it: start a service',
      );
    await pause(LOOK_AGAIN_MS, signal ?? new AbortController().signal);
  }
}
