import { rewardsProjector } from '../../../projections/rewards/projector.js';
import type { ExportedRows } from './exported-rows.js';

/** A row for each reward. Its amount is what was granted. */
export const rewardRows: ExportedRows = {
  readModel: rewardsProjector,
  persons: ['r.person'],
  values: {},
  columns: [
    { header: 'id', kind: 'plain', value: 'r.reward_id' },
    { header: 'type', kind: 'plain', value: 'r.type' },
    { header: 'userId', kind: 'text', value: 'r.user_id' },
    { header: 'accountId', kind: 'text', value: 'r.account_id' },
    { header: 'unit', kind: 'text', value: 'r.unit' },
    {
      header: 'amount',
      kind: 'integer',
      value: 'coalesce(r.assigned_credit, r.discount_percent, r.amount)',
    },
    { header: 'rewardSource', kind: 'plain', value: 'r.source' },
    { header: 'dateGiven', kind: 'integer', value: 'r.date_given' },
    { header: 'dateExpires', kind: 'integer', value: 'r.date_expires' },
    { header: 'dateCancelled', kind: 'integer', value: 'r.date_cancelled' },
  ],
  select: ({ table, isGone }) =>
    `select r.* from ${table('rewards')} r where not ${isGone('r.person')}`,
  created: 'r.date_given',
  changed: 'r.date_changed',
  programId: 'r.program_id',
  order: 'r.date_given, r.reward_id collate "C"',
};
