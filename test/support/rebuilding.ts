import type pg from 'pg';
import { accountProjectors } from '../../projections/account-projectors.js';
import { withGenerationsLock } from '../../src/postgres/generations-lock.js';
import type { GenerationParts } from '../../src/projecting/generations/catch-up.js';
import { schemaOf } from '../../src/projecting/identifiers.js';
import type { Projector, Row } from '../../src/projecting/projector.js';
import {
  rebuild,
  type BuiltGeneration,
  type RebuildOptions,
} from '../../src/projecting/generations/rebuild.js';
import {
  listDifferences,
  withSnapshot,
  type RowDifference,
} from '../../src/projecting/generations/generation-diff.js';
import {
  repair,
  type RepairedProjection,
  type RepairScope,
} from '../../src/projecting/generations/repair.js';
import {
  rollBack,
  swap,
  type Switched,
} from '../../src/projecting/generations/switch-generations.js';
import type { Logger } from '../../src/foundation/logger.js';
import { ErrorLines } from './error-lines.js';
import type { ProjectedLedger } from './projected-ledger.js';

/** Rebuilding, switching and looking into the tables of a test's read models. */
export class Rebuilding {
  readonly parts: GenerationParts;

  constructor(
    readonly projected: ProjectedLedger,
    projectors: readonly Projector[] = accountProjectors,
    pool: pg.Pool = projected.openPool(),
    logger: Pick<Logger, 'error'> = new ErrorLines(),
  ) {
    const { log, ledger } = projected;
    this.parts = { pool, log, decode: ledger.decode, projectors, logger };
  }

  rebuild(
    names: readonly string[],
    options: Partial<RebuildOptions> = {},
  ): Promise<readonly BuiltGeneration[]> {
    const signal = new AbortController().signal;
    return withGenerationsLock(this.parts.pool, (client) =>
      rebuild(this.parts, client, this.of(names), { signal, ...options }),
    );
  }

  swap(...names: readonly string[]): Promise<Switched> {
    return withGenerationsLock(this.parts.pool, (client) =>
      swap(this.parts, client, this.of(names)),
    );
  }

  rollBack(name: string): Promise<Switched> {
    return withGenerationsLock(this.parts.pool, async (client) => {
      const [projector] = this.of([name]);
      if (!projector) throw new Error(`no projector ${name}`);
      return rollBack(this.parts, client, projector);
    });
  }

  /** Puts right, in place, what these streams wrote. */
  repair(
    names: readonly string[],
    part: RepairScope['part'],
    skips?: RepairScope['skips'],
  ): Promise<readonly RepairedProjection[]> {
    const { signal } = new AbortController();
    const concerns = (stream: string): boolean =>
      part.kind === 'streams' || stream.startsWith(`account-${part.tenant}-${part.mode}-`);
    return withGenerationsLock(this.parts.pool, (client) =>
      repair(
        { ...this.parts, client },
        this.of(names),
        { part, concerns, ...(skips && { skips }) },
        { signal },
      ),
    );
  }

  /** The rows in which the newest generation differs from the live one. */
  async differences(name: string, live: number, built: number): Promise<readonly RowDifference[]> {
    const [projector] = this.of([name]);
    if (!projector) throw new Error(`no projector ${name}`);
    return withSnapshot(this.parts.pool, async ({ client, take }) => {
      await take();
      return listDifferences(client, projector, { live, built }, 1_000);
    });
  }

  of(names: readonly string[]): readonly Projector[] {
    return this.parts.projectors.filter(({ name }) => names.includes(name));
  }

  /** Every row of a generation of a projection, by table, in the order of the keys. */
  async rowsOf(
    projection: string,
    generation: number,
  ): Promise<Readonly<Record<string, readonly Row[]>>> {
    const [projector] = this.of([projection]);
    const tables = (projector?.tables ?? []).map(async (table) => {
      const order = table.primaryKey.map((column) => `"${column}" collate "C"`).join(', ');
      const { rows } = await this.parts.pool.query<{ row: Row }>(
        `select to_jsonb(t) as row from ${schemaOf(projection, generation)}."${table.name}" t order by ${order}`,
      );
      return [table.name, rows.map(({ row }) => row)] as const;
    });
    return Object.fromEntries(await Promise.all(tables));
  }

  /** The parked streams of a generation. */
  async parkedOf(projection: string, generation: number): Promise<readonly object[]> {
    const { rows } = await this.parts.pool.query<object>(
      `select stream, revision::text, position, reason from ledger.parked_streams where projection = $1 and generation = $2 order by stream`,
      [projection, generation],
    );
    return rows;
  }

  async states(projection: string): Promise<Readonly<Record<number, string>>> {
    const { rows } = await this.parts.pool.query<{ generation: number; state: string }>(
      'select generation, state from ledger.projection_generations where projection = $1 order by generation',
      [projection],
    );
    return Object.fromEntries(rows.map(({ generation, state }) => [generation, state]));
  }
}
