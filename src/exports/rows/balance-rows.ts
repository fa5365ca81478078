import { rewardBalancesProjector } from '../../../projections/reward-balances/projector.js';
import type { ExportedRows } from './exported-rows.js';

const PENDING = {
  header: 'pending',
  kind: 'integer',
  value: `case r.type when 'CREDIT' then r.pending_credit end`,
} as const;

/**
 * A row per user, type and unit, including empty balances. As recorded: a reward stays available
 * after its date until the log records its expiry.
 */
export const balanceRows = (type: 'REWARD_BALANCE' | 'USER_REWARD_BALANCE'): ExportedRows => ({
  readModel: rewardBalancesProjector,
  persons: ['r.person'],
  columns: [
    { header: 'userId', kind: 'text', value: 'r.user_id' },
    { header: 'accountId', kind: 'text', value: 'r.account_id' },
    { header: 'type', kind: 'plain', value: 'r.type' },
    {
      header: 'amount',
      kind: 'integer',
      value: `case r.type when 'CREDIT' then r.available_credit when 'PCT_DISCOUNT' then r.discount_percent else r.fuel_tank_codes end`,
    },
    { header: 'unit', kind: 'text', value: 'r.unit' },
    ...(type === 'REWARD_BALANCE' ? [PENDING] : []),
  ],
  select: ({ table, isGone }) =>
    `select r.* from ${table('reward_balances')} r where not ${isGone('r.person')}`,
  order:
    'r.date_created, r.account_ref collate "C", r.person collate "C", r.type collate "C", r.unit_key collate "C"',
});
