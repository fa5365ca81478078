import { sql, type ExpressionBuilder } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { PersonId } from '../../src/domain/account/account.events.js';
import type { ReferralFacts } from '../../src/domain/account/account.facts.js';
import type { SideStatus } from '../../src/domain/program.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import {
  isDeepPage,
  isOfScope,
  present,
  type UnfinishedErasures,
  type ListPage,
  type LiveReads,
  type PageRequest,
  type TimeRange,
} from '../../src/projecting/following/live-reads.js';
import { partyOf } from './counting.js';
import type {
  CountedBy,
  ReferralCountRow,
  ReferralDecisionRow,
  ReferralRewardRow,
  ReferralRow,
  RewardedSide,
} from './table.js';

/** All given filters must match. User ids are in the client's spelling. */
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

export interface ReferralPlace {
  readonly dateStarted: number;
  readonly referralId: string;
}

export interface ReferralTables {
  readonly referrals: ReferralRow;
  readonly referral_rewards: ReferralRewardRow;
  readonly referral_counts: ReferralCountRow;
  readonly referral_decisions: ReferralDecisionRow;
}

export interface ReferralWithRewards {
  readonly referral: ReferralRow;
  readonly referredReward: string | null;
  readonly referrerReward: string | null;
  readonly referredIsGone: boolean;
  readonly referrerIsGone: boolean;
}

export function withRewards(
  eb: ExpressionBuilder<ReferralTables & { r: ReferralRow }, 'r'>,
  gone: UnfinishedErasures,
) {
  const rewardOf = (side: RewardedSide) =>
    eb
      .selectFrom('referral_rewards as w')
      .select('w.reward_id')
      .whereRef('w.referral_id', '=', 'r.referral_id')
      .where('w.side', '=', side)
      .$asScalar();
  return jsonBuildObject({
    referral: eb.fn.toJson('r'),
    referredReward: rewardOf('referred'),
    referrerReward: rewardOf('referrer'),
    referredIsGone: gone.is(eb.ref('r.referred_person')),
    referrerIsGone: gone.is(eb.ref('r.referrer_person')),
  });
}

export class ReferralQueries {
  constructor(private readonly reads: LiveReads<ReferralTables>) {}

  async byId({ tenant, mode }: Scope, referralId: string): Promise<ReferralFacts | undefined> {
    const found = await this.reads.first({
      name: 'referral_by_id',
      prepared: true,
      values: { referralId, tenant, mode },
      build: (rm, given, gone) =>
        rm
          .selectFrom('referrals as r')
          .where('r.referral_id', '=', given.referralId)
          .where(isOfScope(['r.tenant', 'r.mode'], given))
          .select((eb) => withRewards(eb, gone).as('json')),
    });
    return found && referralFacts(found);
  }

  /**
   * A person's referrals, newest first, ties by id. A page is a part of the account's referrals, so
   * its cost is constant, and it may have none of the person's. Later referrals are in no later
   * page.
   * @param after the end of the previous page.
   */
  async pageMadeBy(
    { tenant, mode }: Scope,
    { accountRef, person }: { readonly accountRef: AccountRef; readonly person: PersonId },
    after: ReferralPlace | undefined,
    limit: number,
  ): Promise<{
    readonly items: readonly ReferralFacts[];
    readonly next: ReferralPlace | undefined;
  }> {
    const rows = await this.reads.all({
      name: after ? 'referrals_made_after' : 'referrals_made',
      prepared: true,
      values: { accountRef, limit, after: after?.dateStarted, afterId: after?.referralId },
      build: (rm, given, gone) =>
        rm
          .selectFrom((from) =>
            from
              .selectFrom('referrals')
              .selectAll()
              .where('referrer_account_ref', '=', given.accountRef)
              .where((eb) =>
                eb.and(
                  present([
                    given.after && eb('date_started', '<=', given.after),
                    given.after &&
                      given.afterId &&
                      eb('date_started', '<', given.after).or('referral_id', '>', given.afterId),
                  ]),
                ),
              )
              .orderBy('date_started', 'desc')
              .orderBy('referral_id')
              .limit(given.limit)
              .as('r'),
          )
          .select((eb) => withRewards(eb, gone).as('json'))
          .orderBy('r.date_started', 'desc')
          .orderBy('r.referral_id'),
    });
    const last = rows.at(-1)?.referral;
    const own = rows.filter(
      ({ referral }) =>
        referral.referrer_person === person && referral.tenant === tenant && referral.mode === mode,
    );
    return {
      items: own.map(referralFacts),
      next:
        last && rows.length === limit
          ? { dateStarted: last.date_started, referralId: last.referral_id }
          : undefined,
    };
  }

  /**
   * Newest start first, ties by id. A stored counter has the total for all, a referring account,
   * user or both, and a referred user, each also by status. Other combinations are counted along
   * the most selective index: an account is referred once, filters on both parties leave few rows,
   * and a range of dates counts its own rows.
   */
  // eslint-disable-next-line max-lines-per-function -- one statement
  async list(
    { tenant, mode }: Scope,
    filter: ReferralFilter,
    { limit, offset }: PageRequest,
  ): Promise<ListPage<ReferralFacts>> {
    const counter = counterFor(filter);
    const list = await this.reads.first({
      name: 'referrals',
      prepared: false,
      slowOf: counter === undefined || isDeepPage({ limit, offset }) ? tenant : undefined,
      values: {
        tenant,
        mode,
        referrerAccountRef: filter.referrerAccountRef,
        referrerUserId: filter.referrerUserId,
        referredAccountRef: filter.referredAccountRef,
        referredUserId: filter.referredUserId,
        referredStatus: filter.referredStatus,
        referrerStatus: filter.referrerStatus,
        startedFrom: filter.started?.from,
        startedTo: filter.started?.to,
        paidFrom: filter.paid?.from,
        paidTo: filter.paid?.to,
        endedFrom: filter.ended?.from,
        endedTo: filter.ended?.to,
        countedBy: counter?.countedBy,
        party: counter?.party,
        limit,
        offset,
      },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          const matching = eb
            .selectFrom('referrals')
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where((row) =>
              row.and(
                present([
                  given.referrerAccountRef &&
                    row('referrer_account_ref', '=', given.referrerAccountRef),
                  given.referrerUserId && row('referrer_user_id', '=', given.referrerUserId),
                  given.referredAccountRef &&
                    row('referred_account_ref', '=', given.referredAccountRef),
                  given.referredUserId && row('referred_user_id', '=', given.referredUserId),
                  given.referredStatus && row('referred_status', '=', given.referredStatus),
                  given.referrerStatus && row('referrer_status', '=', given.referrerStatus),
                  given.startedFrom && row('date_started', '>=', given.startedFrom),
                  given.startedTo && row('date_started', '<=', given.startedTo),
                  given.paidFrom && row('date_paid', '>=', given.paidFrom),
                  given.paidTo && row('date_paid', '<=', given.paidTo),
                  given.endedFrom && row('date_ended', '>=', given.endedFrom),
                  given.endedTo && row('date_ended', '<=', given.endedTo),
                  // The person whose id the filter names.
                  given.referrerUserId && row.not(gone.is(row.ref('referrer_person'))),
                  given.referredUserId && row.not(gone.is(row.ref('referred_person'))),
                ]),
              ),
            );
          // Of the type of the stored counter that it replaces.
          const counted = matching.select(sql<Total>`to_jsonb(count(*))`.as('total')).$asScalar();
          const kept =
            given.countedBy &&
            given.party &&
            eb
              .selectFrom('referral_counts')
              .select('referrals')
              .where('tenant', '=', given.tenant)
              .where('mode', '=', given.mode)
              .where('counted_by', '=', given.countedBy)
              .where('party', '=', given.party)
              .$asScalar();
          // The stored counter of a forgotten person decreases piece by piece.
          const keptOrCounted = kept && eb.case().when(gone.exist).then(counted).else(kept).end();
          const namesNobody = !given.referrerUserId && !given.referredUserId;
          // `newest_first` has these columns: earlier rows of the whole list are not read.
          const page = matching
            .select('referral_id')
            .orderBy('date_started', 'desc')
            .orderBy('referral_id')
            .limit(given.limit)
            .offset(given.offset);
          const items = eb
            .selectFrom(page.as('p'))
            .innerJoin('referrals as r', 'r.referral_id', 'p.referral_id')
            .select((row) => withRewards(row, gone).as('item'))
            .orderBy('r.date_started', 'desc')
            .orderBy('r.referral_id');
          return jsonBuildObject({
            total: (namesNobody ? kept : keptOrCounted) ?? counted,
            items: jsonArrayFrom(items),
          }).as('json');
        }),
    });
    return {
      totalCount: totalOf(list?.total, filter),
      items: (list?.items ?? []).map(({ item }) => referralFacts(item)),
    };
  }
}

/** The number of referrals, in all or by their statuses; null: none. */
type Total = number | ReferralCountRow['referrals'] | null;

/** The stored counter for a filter, if there is one. */
function counterFor(
  filter: ReferralFilter,
): { readonly countedBy: CountedBy; readonly party: string } | undefined {
  const {
    referrerAccountRef,
    referrerUserId,
    referredAccountRef,
    referredUserId,
    started,
    paid,
    ended,
  } = filter;
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
  total: Total | undefined,
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

/** A forgotten side has neither reward nor code. */
export function referralFacts(found: ReferralWithRewards): ReferralFacts {
  const { referral: row, referredIsGone, referrerIsGone } = found;
  return {
    referralId: row.referral_id,
    programId: row.program_id,
    referredAccountRef: row.referred_account_ref,
    referredPerson: row.referred_person,
    referrerAccountRef: row.referrer_account_ref,
    referrerPerson: row.referrer_person,
    referralCodeUsed: referrerIsGone ? null : row.referral_code_used,
    shareLinkUsed: referrerIsGone ? null : row.share_link_used,
    referredStatus: row.referred_status,
    referrerStatus: row.referrer_status,
    fraudSignals: row.fraud_signals,
    referredRewardId: referredIsGone ? null : found.referredReward,
    referrerRewardId: referrerIsGone ? null : found.referrerReward,
    dateReferralStarted: row.date_started,
    dateReferralPaid: row.date_paid,
    dateReferralEnded: row.date_ended,
    dateModerated: row.date_moderated,
  };
}
