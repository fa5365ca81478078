import { rewardsProjector } from '../../../projections/rewards/projector.js';
import type { ExportDates } from '../export-order.js';
import { dateColumn, type ExportedRows } from './exported-rows.js';

/** A row per reward: the granted amount, and of credit the redeemed and available amounts. */
export const rewardRows = (dates: ExportDates, now: number): ExportedRows => ({
  readModel: rewardsProjector,
  persons: ['r.person'],
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
    dateColumn('dateGiven', 'r.date_given', dates),
    dateColumn('dateExpires', 'r.date_expires', dates),
    dateColumn('dateCancelled', 'r.date_cancelled', dates),
    { header: 'redeemedCredit', kind: 'integer', value: 'r.redeemed_credit' },
    { header: 'availableCredit', kind: 'integer', value: 'r.available_credit' },
    { header: 'currency', kind: 'plain', value: 'r.currency' },
    { header: 'name', kind: 'text', value: 'r.name' },
    { header: 'programId', kind: 'plain', value: 'r.program_id' },
    dateColumn('dateScheduledFor', 'r.date_scheduled_for', dates),
  ],
  select: ({ table, isGone, given }) => `select r.* from (
    select w.*, case when w.type = 'CREDIT' then
      case when w.date_cancelled is null and not w.redeems_automatically
        and coalesce(w.date_scheduled_for <= ${given(String(now))}::numeric, true)
        and coalesce(w.date_expires > ${given(String(now))}::numeric, true)
        then w.assigned_credit - w.redeemed_credit else 0 end end as available_credit
    from ${table('rewards')} w) r where not ${isGone('r.person')}`,
  created: 'r.date_given',
  changed: 'r.date_changed',
  programId: 'r.program_id',
  order: 'r.date_given, r.reward_id collate "C"',
});
