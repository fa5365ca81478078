import type { ExportType } from '../export-order.js';
import type { ExportedRows } from './exported-rows.js';
import { rewardRows } from './reward-rows.js';

/** @throws for a type that is not built yet. */
export function rowsOfType(type: ExportType): ExportedRows {
  if (type === 'REWARD') return rewardRows;
  throw new Error(`exports of ${type} are not built yet`);
}
