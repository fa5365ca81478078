import { sql } from 'kysely';
import type { RewardSource } from '../../src/domain/account/account.events.js';
import {
  shownReward,
  type DatedReward,
  type ShownRewardState,
  type ShownRewardUse,
} from '../../src/domain/account/rewards/shown-state.js';
import type { RewardType } from '../../src/domain/program.js';
import {
  hasWords,
  nameOf,
  searchedIn,
  within,
  wordPatterns,
  type RowListing,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';

export interface RewardFilters {
  readonly state?: ShownRewardState;
  /** When the reward was given, inclusive, epoch milliseconds. */
  readonly from?: number;
  readonly to?: number;
  /** When it was cancelled: both ends included. */
  readonly cancelledFrom?: number;
  readonly cancelledTo?: number;
  readonly program?: string;
  /** In any case. */
  readonly unit?: string;
  /** Each word is a part of the reward's id or name, its account, or its user: name or id. */
  readonly text?: string;
}

export const REWARD_SORTS = [
  'rewardId',
  'person',
  'accountId',
  'type',
  'name',
  'granted',
  'redeemed',
  'left',
  'unit',
  'currency',
  'percent',
  'state',
  'given',
  'expires',
  'cancelled',
  'program',
  'source',
  'referralId',
] as const;
export type RewardSort = (typeof REWARD_SORTS)[number];

/** Amounts are of the unit, times are epoch milliseconds. */
export interface RewardListRow extends ShownRewardUse {
  readonly rewardId: string;
  /** First and last name of its owner, otherwise the user's id. */
  readonly person: string;
  readonly userId: string;
  readonly accountId: string;
  readonly type: RewardType;
  readonly name: string | null;
  /** Null: a percentage. */
  readonly granted: number | null;
  /** `%` for percentages. */
  readonly unit: string | null;
  /** Of the reward, otherwise of its account. */
  readonly currency: string | null;
  readonly percent: number | null;
  readonly given: number;
  readonly expires: number | null;
  readonly cancelled: number | null;
  /** Null: granted by hand. */
  readonly program: string | null;
  readonly source: RewardSource;
  readonly referralId: string | null;
}

export type StoredReward = Omit<RewardListRow, keyof ShownRewardUse> & {
  readonly dated: DatedReward;
};

type RewardValues = Omit<RewardFilters, 'unit' | 'text'> &
  WordPatterns & {
    readonly unitKey: string | undefined;
    readonly now: number;
  };

const NAME = nameOf('u', sql.ref('r.user_id'));

const CURRENCY = sql`coalesce(r.currency, a.currency)`;

/** As `shownReward`, for filters and orders. */
const USE = (now: unknown) => sql`
  cross join lateral (select case when r.redeems_automatically and r.redeemed_times = 0
    and r.date_cancelled is null and r.date_scheduled_for <= ${now}
    then r.assigned_credit else r.redeemed_credit end as redeemed) used
  cross join lateral (select case when r.date_cancelled is not null then 'Cancelled'
    when r.assigned_credit <= used.redeemed then 'Redeemed'
    when r.date_expires <= ${now} then 'Expired'
    when r.date_scheduled_for > ${now} then 'Pending'
    when used.redeemed > 0 then 'Partly redeemed' else 'Available' end as state) shown`;

export const REWARDS: RowListing<RewardValues, RewardSort, StoredReward> = {
  name: 'rewards_list',
  joins: ['users', 'accounts'],
  from: ({ tableOf }) => sql`${tableOf('rewards', 'rewards')} r`,
  scope: ['r.tenant', 'r.mode'],
  key: 'r.reward_id',
  tiesAscend: false,
  joined: ({ given, tableOf }) => sql`
    left join ${tableOf('users', 'users')} u on u.person = r.person
    left join ${tableOf('accounts', 'accounts')} a on a.account_ref = r.account_ref
    ${USE(given.now)}`,
  where: ({ given, gone }) => [
    sql`not ${gone.is(sql.ref('r.person'))}`,
    given.state && sql`shown.state = ${given.state}`,
    ...within('r.date_given', given),
    ...within('r.date_cancelled', { from: given.cancelledFrom, to: given.cancelledTo }),
    given.program && sql`r.program_id = ${given.program}`,
    given.unitKey && sql`lower(r.unit) = ${given.unitKey}`,
    hasWords(
      searchedIn(
        ...(['r.reward_id', 'u.searched'] as const).map((column) => sql.ref(column)),
        ...(['r.name', 'r.account_id', 'r.user_id'] as const).map(
          (column) => sql`lower(${sql.ref(column)})`,
        ),
      ),
      given,
    ),
  ],
  joinedBy: ['state', 'pattern'],
  quickBy: [],
  orders: {
    rewardId: { by: sql.ref('r.reward_id') },
    person: { by: sql`lower(${NAME})`, isJoined: true },
    accountId: { by: sql.ref('r.account_id') },
    type: { by: sql.ref('r.type') },
    name: { by: sql`lower(r.name)`, isNullable: true },
    granted: { by: sql`coalesce(r.assigned_credit, r.amount)`, isNullable: true },
    redeemed: { by: sql.ref('used.redeemed'), isNullable: true, isJoined: true },
    left: {
      by: sql`case when shown.state in ('Cancelled', 'Expired') then 0 * r.assigned_credit
        else r.assigned_credit - used.redeemed end`,
      isNullable: true,
      isJoined: true,
    },
    unit: { by: sql`lower(r.unit)`, isNullable: true },
    currency: { by: CURRENCY, isNullable: true, isJoined: true },
    percent: { by: sql.ref('r.discount_percent'), isNullable: true },
    state: { by: sql.ref('shown.state'), isJoined: true },
    given: { by: sql.ref('r.date_given') },
    expires: { by: sql.ref('r.date_expires'), isNullable: true },
    cancelled: { by: sql.ref('r.date_cancelled'), isNullable: true },
    program: { by: sql.ref('r.program_id'), isNullable: true },
    source: { by: sql.ref('r.source') },
    referralId: { by: sql.ref('r.referral_id'), isNullable: true },
  },
  newest: 'given',
  row: () =>
    sql`json_build_object('rewardId', r.reward_id, 'person', ${NAME},
    'userId', r.user_id, 'accountId', r.account_id, 'type', r.type, 'name', r.name,
    'granted', coalesce(r.assigned_credit, r.amount), 'unit', r.unit, 'currency', ${CURRENCY},
    'percent', r.discount_percent, 'given', r.date_given, 'expires', r.date_expires,
    'cancelled', r.date_cancelled, 'program', r.program_id, 'source', r.source,
    'referralId', r.referral_id,
    'dated', json_build_object('granted', r.assigned_credit, 'redeemed', r.redeemed_credit,
      'redeemsAutomatically', r.redeems_automatically, 'dateScheduledFor', r.date_scheduled_for,
      'dateExpires', r.date_expires, 'dateCancelled', r.date_cancelled))`,
};

/** @param now of the ledger, epoch milliseconds. */
export const rewardValues = ({ unit, text, ...filters }: RewardFilters, now: number) => ({
  ...filters,
  unitKey: unit?.toLowerCase(),
  ...wordPatterns(text),
  now,
});

/** A reward as it is at a time, epoch milliseconds. */
export const listedReward = ({ dated, ...row }: StoredReward, now: number): RewardListRow => ({
  ...row,
  ...shownReward(dated, now),
});
