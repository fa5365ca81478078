import { referralsProjector } from '../../../projections/referrals/projector.js';
import type { RewardedSide } from '../../../projections/referrals/table.js';
import type { ExportDates } from '../export-order.js';
import { dateColumn, type ExportColumn, type ExportedRows } from './exported-rows.js';

const unlessForgotten = (side: RewardedSide, column: string): string =>
  `case when not r.${side}_is_gone then r.${column} end`;

const sideColumns = (side: RewardedSide): readonly ExportColumn[] => [
  { header: `${side}User`, kind: 'text', value: unlessForgotten(side, `${side}_user_id`) },
  { header: `${side}Account`, kind: 'text', value: unlessForgotten(side, `${side}_account_id`) },
  { header: `${side}Reward`, kind: 'plain', value: unlessForgotten(side, `${side}_reward`) },
  { header: `${side}ModerationStatus`, kind: 'plain', value: `r.${side}_status` },
];

/** A row per referral. A forgotten side has neither ids nor a reward. */
export const referralRows = (dates: ExportDates): ExportedRows => ({
  readModel: referralsProjector,
  persons: [
    unlessForgotten('referred', 'referred_person'),
    unlessForgotten('referrer', 'referrer_person'),
  ],
  columns: [
    { header: 'id', kind: 'plain', value: 'r.referral_id' },
    { header: 'programId', kind: 'plain', value: 'r.program_id' },
    ...sideColumns('referred'),
    ...sideColumns('referrer'),
    dateColumn('dateReferralStarted', 'r.date_started', dates),
    // The payment, or the event in its place, is the conversion.
    dateColumn('dateConverted', 'r.date_paid', dates),
    dateColumn('dateReferralPaid', 'r.date_paid', dates),
    dateColumn('dateReferralEnded', 'r.date_ended', dates),
    dateColumn('dateModerated', 'r.date_moderated', dates),
  ],
  select: ({ table, isGone }) => `select r.* from (
    select f.*, d.reward_id as referred_reward, e.reward_id as referrer_reward,
      ${isGone('f.referred_person')} as referred_is_gone, ${isGone('f.referrer_person')} as referrer_is_gone,
      greatest(f.date_changed, d.date_granted, e.date_granted) as row_changed
    from ${table('referrals')} f
    left join ${table('referral_rewards')} d on d.referral_id = f.referral_id and d.side = 'referred'
    left join ${table('referral_rewards')} e on e.referral_id = f.referral_id and e.side = 'referrer'
    ) r where true`,
  created: 'r.date_started',
  changed: 'r.row_changed',
  programId: 'r.program_id',
  order: 'r.date_started, r.referral_id collate "C"',
});
