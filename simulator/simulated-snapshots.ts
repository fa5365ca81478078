import type { SnapshotRow, SnapshotRows } from '../src/command-handling/snapshots/snapshot-rows.js';
import type { SubjectId } from '../src/domain/personal.js';
import type { Line } from './connection.js';
import { StoreAway } from './store-away.js';

/** The snapshots as their server holds them, by stream. */
export type SimulatedSnapshotTable = Map<string, SnapshotRow>;

const away = (): Error => new StoreAway('the simulated database is away');

/** The snapshots as one process reaches them. */
export class SimulatedSnapshotRows implements SnapshotRows {
  constructor(
    private readonly table: SimulatedSnapshotTable,
    private readonly line: Line,
  ) {}

  find(stream: string): Promise<SnapshotRow | undefined> {
    return this.line.read('database', away, () => this.table.get(stream));
  }

  keep(row: SnapshotRow): Promise<void> {
    return this.line.write('database', away, () => void this.table.set(row.stream, row));
  }

  drop(stream: string): Promise<void> {
    return this.line.write('database', away, () => void this.table.delete(stream));
  }

  dropOf(subjects: readonly SubjectId[]): Promise<void> {
    return this.line.write('database', away, () => {
      for (const [stream, row] of this.table)
        if (row.subjects.some((subject) => subjects.includes(subject))) this.table.delete(stream);
    });
  }
}
