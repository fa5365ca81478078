import type { ExpressionBuilder } from 'kysely';
import { jsonArrayFrom, jsonBuildObject } from 'kysely/helpers/postgres';
import type { ReferralFacts } from '../../src/domain/account/account.facts.js';
import type { Scope } from '../../src/domain/scope.js';
import {
  isOfScope,
  type UnfinishedErasures,
  type ListPage,
  type LiveReads,
  type PageRequest,
} from '../../src/projecting/following/live-reads.js';
import {
  referralFacts,
  withRewards,
  type ReferralTables,
  type ReferralWithRewards,
} from './queries.js';
import type { ReferralDecisionRow, ReferralRow } from './table.js';

export interface DecidedReferral {
  readonly referral: ReferralFacts;
  readonly decision: ReferralDecisionRow;
}

interface Found {
  readonly found: ReferralWithRewards;
  readonly decision: ReferralDecisionRow;
}

type Decided = ReferralTables & { r: ReferralRow; d: ReferralDecisionRow };

const withDecision = (row: ExpressionBuilder<Decided, 'r' | 'd'>, gone: UnfinishedErasures) =>
  jsonBuildObject({ found: withRewards(row, gone), decision: row.fn.toJson('d') });

const decidedReferral = ({ found, decision }: Found): DecidedReferral => ({
  referral: referralFacts(found),
  decision: { ...decision, reason: found.referredIsGone ? null : decision.reason },
});

/** Newest first, ties by id. */
export class DecidedReferralQueries {
  constructor(private readonly reads: LiveReads<ReferralTables>) {}

  async byId({ tenant, mode }: Scope, referralId: string): Promise<DecidedReferral | undefined> {
    const found = await this.reads.first({
      name: 'decided_referral',
      prepared: true,
      values: { tenant, mode, referralId },
      build: (rm, given, gone) =>
        rm
          .selectFrom('referral_decisions as d')
          .innerJoin('referrals as r', 'r.referral_id', 'd.referral_id')
          .where('d.referral_id', '=', given.referralId)
          .where(isOfScope(['d.tenant', 'd.mode'], given))
          .select((row) => withDecision(row, gone).as('json')),
    });
    return found && decidedReferral(found);
  }

  /** @param since epoch milliseconds, inclusive. */
  async list(
    { tenant, mode }: Scope,
    since: number,
    { limit, offset }: PageRequest,
  ): Promise<ListPage<DecidedReferral>> {
    const list = await this.reads.first({
      name: 'decided_referrals',
      prepared: true,
      values: { tenant, mode, since, limit, offset },
      build: (rm, given, gone) =>
        rm.selectNoFrom((eb) => {
          const decided = eb
            .selectFrom('referral_decisions')
            .where('tenant', '=', given.tenant)
            .where('mode', '=', given.mode)
            .where('at', '>=', given.since);
          const page = decided
            .selectAll()
            .orderBy('at', 'desc')
            .orderBy('referral_id')
            .limit(given.limit)
            .offset(given.offset);
          const items = eb
            .selectFrom(page.as('d'))
            .innerJoin('referrals as r', 'r.referral_id', 'd.referral_id')
            .select((row) => withDecision(row, gone).as('item'))
            .orderBy('d.at', 'desc')
            .orderBy('d.referral_id');
          return jsonBuildObject({
            total: decided.select(({ fn }) => fn.countAll<number>().as('total')).$asScalar(),
            items: jsonArrayFrom(items),
          }).as('json');
        }),
    });
    return {
      totalCount: list?.total ?? 0,
      items: (list?.items ?? []).map(({ item }) => decidedReferral(item)),
    };
  }
}
