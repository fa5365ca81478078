import { sql } from 'kysely';
import type { FraudSignal } from '../../src/domain/account/account.events.js';
import type {
  UnfinishedErasures,
  TableOfReadModel,
} from '../../src/projecting/following/live-reads.js';
import {
  hasWords,
  nameOf,
  searchedIn,
  within,
  wordPatterns,
  type RowListing,
  type WordPatterns,
} from '../../src/projecting/following/row-lists.js';

export const REFERRAL_STATES = ['Started', 'Converted', 'Ended'] as const;
export type ReferralListState = (typeof REFERRAL_STATES)[number];
export const MODERATION_STATES = ['Waiting', 'Approved', 'Denied'] as const;
export type ModerationState = (typeof MODERATION_STATES)[number];

export interface ReferralFilters {
  readonly state?: ReferralListState;
  readonly moderation?: ModerationState;
  /** Start of the referral, inclusive, epoch milliseconds. */
  readonly from?: number;
  readonly to?: number;
  readonly program?: string;
  /** In any case. */
  readonly code?: string;
  /** Each word is a part of the referral's id, or of a party's name, address, user or account. */
  readonly text?: string;
  readonly referrerAccountRef?: string;
}

export const REFERRAL_SORTS = [
  'referralId',
  'referred',
  'referrer',
  'code',
  'program',
  'state',
  'referredModeration',
  'referrerModeration',
  'started',
  'converted',
  'ended',
] as const;
export type ReferralSort = (typeof REFERRAL_SORTS)[number];

/** A party of a referral; all null: forgotten. */
export interface ListedParty {
  /** First and last name, otherwise the user's id. */
  readonly name: string | null;
  readonly userId: string | null;
  readonly accountId: string | null;
}

/** Times are epoch milliseconds. */
export interface ReferralListRow {
  readonly referralId: string;
  readonly referred: ListedParty;
  readonly referrer: ListedParty;
  /** Null: its owner is forgotten. */
  readonly code: string | null;
  readonly program: string;
  readonly state: ReferralListState;
  readonly referredModeration: ModerationState;
  readonly referrerModeration: ModerationState;
  readonly started: number;
  readonly converted: number | null;
  readonly ended: number | null;
  /** The last decision on either side; the start: none. */
  readonly moderated: number;
  /** The reward of each side for the referral; null: none, or its owner is forgotten. */
  readonly referredRewardId: string | null;
  readonly referrerRewardId: string | null;
  readonly fraudSignals: Readonly<Record<string, FraudSignal>>;
}

type ReferralValues = Pick<
  ReferralFilters,
  'state' | 'from' | 'to' | 'program' | 'referrerAccountRef'
> &
  WordPatterns & {
    readonly status: string | undefined;
    readonly codeKey: string | undefined;
  };

const STATUS_OF: Readonly<Record<ModerationState, string>> = {
  Waiting: 'PENDING',
  Approved: 'APPROVED',
  Denied: 'DENIED',
};

const STATE = sql`case when r.date_ended is not null then 'Ended'
  when r.date_paid is not null then 'Converted' else 'Started' end`;
type Side = 'referred' | 'referrer';
const column = (name: string) => sql.ref(name);

const moderationOf = (side: Side) => {
  const status = column(`r.${side}_status`);
  return sql`case ${status} when 'PENDING' then 'Waiting' else initcap(${status}) end`;
};

/** A party, without data of people with an unfinished erasure. */
const partyOf = (side: Side, gone: UnfinishedErasures) => {
  const isThere = sql`not ${gone.is(sql.ref(`r.${side}_person`))}`;
  return sql`cross join lateral (select
    case when ${isThere} then ${column(`r.${side}_user_id`)} end as user_id,
    case when ${isThere} then ${column(`r.${side}_account_id`)} end as account_id) ${sql.id(side)}`;
};
const idsOf = (side: Side) => ({
  user: column(`${side}.user_id`),
  account: column(`${side}.account_id`),
});
/** Null: forgotten. */
const shownName = (side: Side) => {
  const { user } = idsOf(side);
  return sql`case when ${user} is not null then ${nameOf(`${side}_user`, user)} end`;
};
const searchedOf = (side: Side) => {
  const { user, account } = idsOf(side);
  const searched = column(`${side}_user.searched`);
  return sql`case when ${user} is not null then
    ${searchedIn(searched, sql`lower(${user})`, sql`lower(${account})`)} end`;
};
const listed = (side: Side) => {
  const { user, account } = idsOf(side);
  return sql`json_build_object('name', ${shownName(side)}, 'userId', ${user}, 'accountId', ${account})`;
};
const rewardOf = (side: Side, tableOf: TableOfReadModel) => sql`
  case when ${idsOf(side).user} is not null then (
    select w.reward_id from ${tableOf('referrals', 'referral_rewards')} w
    where w.referral_id = r.referral_id and w.side = ${side}) end`;
const CODE = sql`case when referrer.user_id is not null then r.referral_code_used end`;

export const REFERRALS: RowListing<ReferralValues, ReferralSort, ReferralListRow> = {
  name: 'referrals_list',
  joins: ['users'],
  from: ({ tableOf }) => sql`${tableOf('referrals', 'referrals')} r`,
  scope: ['r.tenant', 'r.mode'],
  key: 'r.referral_id',
  tiesAscend: true,
  joined: ({ gone, tableOf }) => sql`${partyOf('referred', gone)} ${partyOf('referrer', gone)}
    left join ${tableOf('users', 'users')} referred_user on referred_user.person = r.referred_person
    left join ${tableOf('users', 'users')} referrer_user on referrer_user.person = r.referrer_person`,
  where: ({ given }) => [
    given.state && sql`${STATE} = ${given.state}`,
    given.status &&
      sql`(r.referred_status = ${given.status} or r.referrer_status = ${given.status})`,
    ...within('r.date_started', given),
    given.program && sql`r.program_id = ${given.program}`,
    given.codeKey && sql`lower(${CODE}) = ${given.codeKey}`,
    given.referrerAccountRef && sql`r.referrer_account_ref = ${given.referrerAccountRef}`,
    hasWords(
      searchedIn(sql.ref('r.referral_id'), searchedOf('referred'), searchedOf('referrer')),
      given,
    ),
  ],
  joinedBy: ['codeKey', 'pattern'],
  quickBy: ['referrerAccountRef'],
  orders: {
    referralId: { by: sql.ref('r.referral_id') },
    referred: { by: sql`lower(${shownName('referred')})`, isNullable: true, isJoined: true },
    referrer: { by: sql`lower(${shownName('referrer')})`, isNullable: true, isJoined: true },
    code: { by: sql`lower(${CODE})`, isNullable: true, isJoined: true },
    program: { by: sql.ref('r.program_id') },
    state: { by: STATE },
    referredModeration: { by: moderationOf('referred') },
    referrerModeration: { by: moderationOf('referrer') },
    started: { by: sql.ref('r.date_started') },
    converted: { by: sql.ref('r.date_paid'), isNullable: true },
    ended: { by: sql.ref('r.date_ended'), isNullable: true },
  },
  newest: 'started',
  row: ({ tableOf }) =>
    sql`json_build_object('referralId', r.referral_id,
    'referred', ${listed('referred')}, 'referrer', ${listed('referrer')},
    'code', ${CODE}, 'program', r.program_id, 'state', ${STATE},
    'referredModeration', ${moderationOf('referred')},
    'referrerModeration', ${moderationOf('referrer')}, 'started', r.date_started,
    'converted', r.date_paid, 'ended', r.date_ended, 'moderated', r.date_moderated,
    'referredRewardId', ${rewardOf('referred', tableOf)},
    'referrerRewardId', ${rewardOf('referrer', tableOf)}, 'fraudSignals', r.fraud_signals)`,
  counter: ({ given, tableOf }) => sql`
    select sum(value::bigint) from ${tableOf('referrals', 'referral_counts')},
      jsonb_each_text(referrals)
    where tenant = ${given.tenant} and mode = ${given.mode} and counted_by = 'all' and party = ''`,
};

export const referralValues = ({ code, text, moderation, ...filters }: ReferralFilters) => ({
  ...filters,
  status: moderation && STATUS_OF[moderation],
  codeKey: code?.toLowerCase(),
  ...wordPatterns(text),
});
