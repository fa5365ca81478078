import type { PersonId } from '../../src/domain/account/account.events.js';
import type { RewardFacts } from '../../src/domain/account/account.facts.js';
import { automaticRedemptionId } from '../../src/domain/account/rewards.js';
import type { RewardType } from '../../src/domain/program.js';
import type { AccountRef, Scope } from '../../src/domain/scope.js';
import { Conditions, type LiveReads } from '../../src/projecting/following/live-reads.js';
import type { RedemptionRow, RewardRow } from './table.js';

/** Where a reward stands among those of its account. */
export interface RewardPlace {
  readonly dateGiven: number;
  readonly rewardId: string;
}

type RewardWithRedemptions = RewardRow & { readonly redemptions: readonly RedemptionRow[] };

/** The row with its redemptions, oldest first; `r` is the reward. Most rewards have none and are not looked up for it. */
const withRedemptions = (rm: string): string => `
  to_jsonb(r) || jsonb_build_object('redemptions', case when r.redeemed_times = 0 then '[]'::jsonb else (
    select coalesce(jsonb_agg(to_jsonb(d) order by d.number), '[]') from ${rm}.redemptions d where d.reward_id = r.reward_id) end)`;

export class RewardQueries {
  constructor(
    private readonly reads: LiveReads,
    private readonly clock: () => number = Date.now,
  ) {}

  async byId({ tenant, mode }: Scope, rewardId: string): Promise<RewardFacts | undefined> {
    const row = await this.reads.first<RewardWithRedemptions>({
      name: 'reward_by_id',
      text: (rm, gone) => `
        select ${withRedemptions(rm)} as json from ${rm}.rewards r
        where reward_id = $1 and tenant = $2 and mode = $3 and not ${gone.is('person')}`,
      values: [rewardId, tenant, mode],
    });
    return row && rewardFacts(row, this.clock());
  }

  /** The rewards of these ids that there are, by id. */
  async byIds({ tenant, mode }: Scope, rewardIds: readonly string[]): Promise<ReadonlyMap<string, RewardFacts>> {
    if (rewardIds.length === 0) return new Map();
    const found = await this.reads.all<RewardWithRedemptions>({
      name: 'rewards_by_ids',
      text: (rm, gone) => `
        select ${withRedemptions(rm)} as json from ${rm}.rewards r
        where reward_id = any ($1::text[]) and tenant = $2 and mode = $3 and not ${gone.is('person')}`,
      values: [rewardIds, tenant, mode],
    });
    return new Map(found.map((row) => [row.reward_id, rewardFacts(row, this.clock())]));
  }

  /**
   * The rewards of a person, newest first, ties by id, a page at a time, as for referrals (`pageMadeBy`).
   * @param after what the page before ended with.
   */
  async pageOf(
    { tenant, mode }: Scope,
    { accountRef, person }: { readonly accountRef: AccountRef; readonly person: PersonId },
    after: RewardPlace | undefined,
    limit: number,
  ): Promise<{ readonly items: readonly RewardFacts[]; readonly next: RewardPlace | undefined }> {
    const rows = await this.reads.all<RewardWithRedemptions & { readonly is_gone: boolean }>({
      name: after ? 'rewards_of_person_after' : 'rewards_of_person',
      text: (rm, gone) => `
        select ${withRedemptions(rm)} || jsonb_build_object('is_gone', ${gone.is('r.person')}) as json from (
          select * from ${rm}.rewards where account_ref = $1
          ${after ? 'and date_given <= $3::bigint and (date_given < $3::bigint or reward_id > $4::text)' : ''}
          order by date_given desc, reward_id limit $2) r
        order by date_given desc, reward_id`,
      values: [accountRef, limit, ...(after ? [after.dateGiven, after.rewardId] : [])],
    });
    const last = rows.at(-1);
    const own = rows.filter((row) => row.person === person && !row.is_gone && row.tenant === tenant && row.mode === mode);
    return {
      items: own.map((row) => rewardFacts(row, this.clock())),
      next: last && rows.length === limit ? { dateGiven: last.date_given, rewardId: last.reward_id } : undefined,
    };
  }

  /** All rewards of an account, newest first, ties by id. @param userId as the client spells it. */
  async list(
    { tenant, mode }: Scope,
    { accountRef, userId, type }: { readonly accountRef: AccountRef; readonly userId?: string; readonly type?: RewardType },
  ): Promise<RewardFacts[]> {
    const conditions = new Conditions()
      .equal('account_ref', accountRef)
      .equal('tenant', tenant)
      .equal('mode', mode)
      .equal('user_id', userId)
      .equal('type', type);
    const rows = await this.reads.all<RewardWithRedemptions>({
      text: (rm, gone) => `
        select ${withRedemptions(rm)} as json from ${rm}.rewards r
        where ${conditions.where} and not ${gone.is('person')} order by date_given desc, reward_id`,
      values: conditions.values,
    });
    return rows.map((row) => rewardFacts(row, this.clock()));
  }
}

/** Right by the clock, also where the ledger has not recorded yet that a reward became available and was redeemed by itself. */
function redemptionsOf(row: RewardWithRedemptions, now: number): NonNullable<RewardFacts['redemptions']> {
  const { reward_id, assigned_credit, date_scheduled_for: due } = row;
  if (row.redeems_automatically && row.redeemed_times === 0 && row.date_cancelled === null && due !== null && due <= now) {
    return [{ id: automaticRedemptionId(reward_id), dateRedeemed: due, quantityRedeemed: assigned_credit ?? 0 }];
  }
  return row.redemptions.map(({ redemption_id, date_redeemed, quantity }) => ({
    id: redemption_id,
    dateRedeemed: date_redeemed,
    quantityRedeemed: quantity,
  }));
}

function rewardFacts(row: RewardWithRedemptions, now: number): RewardFacts {
  const redemptions = row.type === 'CREDIT' ? redemptionsOf(row, now) : null;
  return {
    rewardId: row.reward_id,
    accountRef: row.account_ref,
    person: row.person,
    accountId: row.account_id,
    userId: row.user_id,
    type: row.type,
    source: row.source,
    unit: row.unit,
    name: row.name,
    description: row.description,
    cancellable: row.cancellable,
    dateGiven: row.date_given,
    dateExpires: row.date_expires,
    dateCancelled: row.date_cancelled,
    dateScheduledFor: row.date_scheduled_for,
    currency: row.currency,
    discountPercent: row.discount_percent,
    monthsDiscountIsValid: row.months_discount_is_valid,
    assignedCredit: row.assigned_credit,
    redeemedCredit: redemptions && redemptions.reduce((sum, { quantityRedeemed }) => sum + quantityRedeemed, 0),
    redemptions,
    amount: row.amount,
    fuelTankCode: row.fuel_tank_code,
    fuelTankType: row.fuel_tank_type,
  };
}
