import type { PersonId } from '../../src/domain/account/account.events.js';
import type { ReferralFacts } from '../../src/domain/account/account.facts.js';
import type { SideStatus } from '../../src/domain/program.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import {
  Conditions,
  type Gone,
  type ListPage,
  type LiveReads,
  type PageRequest,
  type TimeRange,
} from '../../src/projecting/following/live-reads.js';
import { partyOf } from './counting.js';
import type { CountedBy, ReferralRow } from './table.js';

/** All that are given must hold. User ids are text as the client spells it. */
export interface ReferralFilter {
  readonly referrerAccountRef?: AccountRef;
  readonly referrerUserId?: string;
  readonly referredAccountRef?: AccountRef;
  readonly referredUserId?: string;
  readonly referredStatus?: SideStatus;
  readonly referrerStatus?: SideStatus;
  readonly started?: TimeRange;
  readonly paid?: TimeRange;
  readonly ended?: TimeRange;
}

/** Where a referral stands among those of its referrer's account. */
export interface ReferralPlace {
  readonly dateStarted: number;
  readonly referralId: string;
}

type ReferralWithRewards = ReferralRow & { readonly referred_reward_id: string | null; readonly referrer_reward_id: string | null };

/** The row with the rewards of both sides; `r` is the referral. Of a side that is forgotten there is neither reward nor code. */
const withRewards = (rm: string, gone: Gone): string => `
  to_jsonb(r) || jsonb_build_object(
    'referred_reward_id', case when not ${gone.is('r.referred_person')} then (
      select reward_id from ${rm}.referral_rewards w where w.referral_id = r.referral_id and side = 'referred') end,
    'referrer_reward_id', case when not ${gone.is('r.referrer_person')} then (
      select reward_id from ${rm}.referral_rewards w where w.referral_id = r.referral_id and side = 'referrer') end)
  || case when ${gone.is('r.referrer_person')} then '{"referral_code_used": null, "share_link_used": null}' else '{}'::jsonb end`;

export class ReferralQueries {
  constructor(private readonly reads: LiveReads) {}

  async byId({ tenant, mode }: Scope, referralId: string): Promise<ReferralFacts | undefined> {
    const row = await this.reads.first<ReferralWithRewards>({
      name: 'referral_by_id',
      text: (rm, gone) =>
        `select ${withRewards(rm, gone)} as json from ${rm}.referrals r where referral_id = $1 and tenant = $2 and mode = $3`,
      values: [referralId, tenant, mode],
    });
    return row && referralFacts(row);
  }

  /**
   * The referrals that a person made, newest start first, ties by id, a page at a time. A page is a stretch of the account's referrals, so
   * that it costs the same however many there are; it may hold none of the person's. One that starts meanwhile is in no later page.
   * @param after what the page before ended with.
   */
  async pageMadeBy(
    { tenant, mode }: Scope,
    { accountRef, person }: { readonly accountRef: AccountRef; readonly person: PersonId },
    after: ReferralPlace | undefined,
    limit: number,
  ): Promise<{ readonly items: readonly ReferralFacts[]; readonly next: ReferralPlace | undefined }> {
    const rows = await this.reads.all<ReferralWithRewards>({
      name: after ? 'referrals_made_after' : 'referrals_made',
      text: (rm, gone) => `
        select ${withRewards(rm, gone)} as json from (
          select * from ${rm}.referrals where referrer_account_ref = $1
          ${after ? 'and date_started <= $3::bigint and (date_started < $3::bigint or referral_id > $4::text)' : ''}
          order by date_started desc, referral_id limit $2) r
        order by date_started desc, referral_id`,
      values: [accountRef, limit, ...(after ? [after.dateStarted, after.referralId] : [])],
    });
    const last = rows.at(-1);
    const own = rows.filter((row) => row.referrer_person === person && row.tenant === tenant && row.mode === mode);
    return {
      items: own.map(referralFacts),
      next: last && rows.length === limit ? { dateStarted: last.date_started, referralId: last.referral_id } : undefined,
    };
  }

  /**
   * Newest start first, ties by id. The total comes from kept counters for everybody, for a referring account, user or both, and for
   * a referred user, each also by status. Other combinations are counted along the most selective index: an account is referred once,
   * filters on both parties meet in few rows, and a range of dates counts what is in it.
   */
  async list({ tenant, mode }: Scope, filter: ReferralFilter, { limit, offset }: PageRequest): Promise<ListPage<ReferralFacts>> {
    const conditions = new Conditions()
      .equal('tenant', tenant)
      .equal('mode', mode)
      .equal('referrer_account_ref', filter.referrerAccountRef)
      .equal('referrer_user_id', filter.referrerUserId)
      .equal('referred_account_ref', filter.referredAccountRef)
      .equal('referred_user_id', filter.referredUserId)
      .equal('referred_status', filter.referredStatus)
      .equal('referrer_status', filter.referrerStatus)
      .within('date_started', filter.started)
      .within('date_paid', filter.paid)
      .within('date_ended', filter.ended);
    const counter = counterFor(filter);
    const counted = counter && [conditions.parameter(counter.countedBy), conditions.parameter(counter.party)];
    const page = `limit ${conditions.parameter(limit)} offset ${conditions.parameter(offset)}`;
    const list = await this.reads.first<{ total: number | Readonly<Record<string, number>> | null; items: ReferralWithRewards[] }>({
      text: (rm, gone) => {
        const persons = personsNamedBy(filter);
        const where = [conditions.where, ...persons.map((person) => `not ${gone.is(person)}`)].join(' and ');
        const countedTotal = `to_jsonb((select count(*) from ${rm}.referrals where ${where}))`;
        const keptTotal =
          counted &&
          `(select referrals from ${rm}.referral_counts where tenant = $1 and mode = $2 and counted_by = ${counted[0]} and party = ${counted[1]})`;
        // The kept counter of a person goes down piece by piece.
        const total =
          keptTotal === undefined
            ? countedTotal
            : persons.length === 0
              ? keptTotal
              : `case when ${gone.anybody} then ${countedTotal} else ${keptTotal} end`;
        return `
          select json_build_object(
            'total', ${total},
            'items', (
              select coalesce(json_agg(${withRewards(rm, gone)} order by r.date_started desc, r.referral_id), '[]')
              from (select * from ${rm}.referrals where ${where} order by date_started desc, referral_id ${page}) r)
          ) as json`;
      },
      values: conditions.values,
    });
    return { totalCount: totalOf(list?.total, filter), items: (list?.items ?? []).map(referralFacts) };
  }
}

/** The columns of the people whom a filter names by their ids. */
const personsNamedBy = ({ referrerUserId, referredUserId }: ReferralFilter): readonly string[] => [
  ...(referrerUserId === undefined ? [] : ['referrer_person']),
  ...(referredUserId === undefined ? [] : ['referred_person']),
];

/** The kept counter that answers a filter, if one does. */
function counterFor(filter: ReferralFilter): { readonly countedBy: CountedBy; readonly party: string } | undefined {
  const { referrerAccountRef, referrerUserId, referredAccountRef, referredUserId, started, paid, ended } = filter;
  if (referredAccountRef !== undefined || started || paid || ended) return undefined;
  const byReferrer = referrerAccountRef !== undefined || referrerUserId !== undefined;
  if (byReferrer && referredUserId !== undefined) return undefined;
  const countedBy: CountedBy =
    referredUserId !== undefined
      ? 'referred-user'
      : referrerAccountRef === undefined
        ? referrerUserId === undefined
          ? 'all'
          : 'referrer-user'
        : referrerUserId === undefined
          ? 'referrer-account'
          : 'referrer-account-user';
  const party = partyOf(countedBy, { referrerAccountRef, referrerUserId, referredUserId });
  return party === undefined ? undefined : { countedBy, party };
}

function totalOf(
  total: number | Readonly<Record<string, number>> | null | undefined,
  { referredStatus, referrerStatus }: ReferralFilter,
): number {
  if (typeof total === 'number') return total;
  return Object.entries(total ?? {})
    .filter(([status]) => {
      const [referred, referrer] = status.split(' ');
      return (referredStatus ?? referred) === referred && (referrerStatus ?? referrer) === referrer;
    })
    .reduce((sum, [, number]) => sum + number, 0);
}

function referralFacts(row: ReferralWithRewards): ReferralFacts {
  return {
    referralId: row.referral_id,
    programId: row.program_id,
    referredAccountRef: row.referred_account_ref,
    referredPerson: row.referred_person,
    referrerAccountRef: row.referrer_account_ref,
    referrerPerson: row.referrer_person,
    referralCodeUsed: row.referral_code_used,
    shareLinkUsed: row.share_link_used,
    referredStatus: row.referred_status,
    referrerStatus: row.referrer_status,
    fraudSignals: row.fraud_signals,
    referredRewardId: row.referred_reward_id,
    referrerRewardId: row.referrer_reward_id,
    dateReferralStarted: row.date_started,
    dateReferralPaid: row.date_paid,
    dateReferralEnded: row.date_ended,
    dateModerated: row.date_moderated,
  };
}
