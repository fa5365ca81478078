import type {
  SnapshotRow,
  SnapshotRows,
} from '../../../src/command-handling/snapshots/snapshot-rows.js';
import { SimulatedSnapshotRows } from '../../../simulator/simulated-snapshots.js';
import type { Line } from '../../../simulator/connection.js';

const DIRECT: Line = {
  read: async (_kind, _away, question) => question(),
  write: async (_kind, _away, change) => change(),
};

/** Snapshots in memory, which a test may look into and change. */
export class KeptSnapshots extends SimulatedSnapshotRows implements SnapshotRows {
  /** How often one was looked for. */
  finds = 0;

  constructor(readonly rows = new Map<string, SnapshotRow>()) {
    super(rows, DIRECT);
  }

  override find(stream: string): Promise<SnapshotRow | undefined> {
    this.finds += 1;
    return super.find(stream);
  }
}
