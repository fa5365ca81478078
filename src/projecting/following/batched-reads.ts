import pg from 'pg';
import type { Values } from '../../postgres/statements.js';

/** All reads of a statement wait for the slowest; smaller statements run in parallel. */
const BATCH_MAX = 16;

interface Waiting {
  readonly values: Values;
  readonly resolve: (row: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Finds a row for each of the values, which are lists of equal length; null: none. */
export type FindRows = (lists: Values) => Promise<readonly unknown[]>;

/**
 * Reads of one query. Those of one turn of the event loop share a statement, so each sees all that
 * was committed before it began. When the statement fails at the server, each is retried alone, so
 * that a read fails for its own fault only.
 */
export class BatchedReads {
  private readonly waiting: Waiting[] = [];

  /** @param names of the values. */
  constructor(
    private readonly names: readonly string[],
    private readonly find: FindRows,
  ) {}

  /** @throws the database's errors. */
  row<T>(values: Values): Promise<T | undefined> {
    return new Promise<T | undefined>((resolve, reject) => {
      const settle = (row: unknown): void => resolve((row ?? undefined) as T | undefined);
      this.waiting.push({ values, resolve: settle, reject });
      if (this.waiting.length === 1) setImmediate(() => this.begin());
    });
  }

  private begin(): void {
    while (this.waiting.length > 0) void this.answer(this.waiting.splice(0, BATCH_MAX));
  }

  private async answer(reads: readonly Waiting[]): Promise<void> {
    try {
      const lists = this.names.map((name) => [name, reads.map(({ values }) => values[name])]);
      const rows = await this.find(Object.fromEntries(lists) as Values);
      reads.forEach(({ resolve }, index) => resolve(rows[index]));
    } catch (error) {
      const isShared = reads.length > 1 && error instanceof pg.DatabaseError;
      if (isShared) for (const read of reads) void this.answer([read]);
      else for (const { reject } of reads) reject(error);
    }
  }
}
