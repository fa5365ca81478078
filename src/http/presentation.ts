import type { ReferralFacts, RewardFacts, UserFacts } from '../domain/account/account.facts.js';
import type { PersonId } from '../domain/account/account.events.js';
import type { Scope } from '../domain/scope.js';
import { programOf } from '../domain/tenant/program-document.js';
import type { OpenTenant } from '../domain/tenant/tenant.decider.js';
import type { TenantDirectory } from '../command-handling/tenant-directory.js';
import type { RewardQueries } from '../../projections/rewards/queries.js';
import type { UserQueries } from '../../projections/users/queries.js';
import { ApiError } from './api-error.js';
import { codeDetailsJson, referralJson, rewardJson, userJson, userListItemJson, type CodeDetails } from './presenters.js';
import { ShareLinks } from './share-links.js';

/** Puts facts and their surroundings (links, programs, the other party) together for the presenters. */
export class Presentation {
  constructor(
    private readonly tenants: TenantDirectory,
    private readonly users: UserQueries,
    private readonly rewards: RewardQueries,
    private readonly publicUrl: () => string,
  ) {}

  async user(scope: Scope, facts: UserFacts, newlyReferred = false) {
    return userJson(facts, { ...(await this.surroundings(scope)), newlyReferred });
  }

  async userListItems(scope: Scope, facts: readonly UserFacts[]) {
    const { defaultProgramId } = await this.surroundings(scope);
    return facts.map((user) => userListItemJson(user, defaultProgramId));
  }

  /** Referrals with full users and rewards; a side that is gone is null. Two queries, however many referrals. */
  async referrals(scope: Scope, referrals: readonly ReferralFacts[]) {
    const surroundings = await this.surroundings(scope);
    const persons = referrals.flatMap(({ referredPerson, referrerPerson }) => [referredPerson, referrerPerson]);
    const rewardIds = referrals.flatMap(({ referredRewardId, referrerRewardId }) => [referredRewardId, referrerRewardId]);
    const [users, rewards] = await Promise.all([
      this.users.byPersons(scope, [...new Set(persons)]),
      this.rewards.byIds(scope, [...new Set(rewardIds.filter((id) => id !== null))]),
    ]);
    const userOf = (person: PersonId) => presentOrNull(users.get(person), (facts) => userJson(facts, surroundings));
    const rewardOf = (id: string | null) =>
      presentOrNull(id === null ? undefined : rewards.get(id), (facts: RewardFacts) => rewardJson(facts));
    return referrals.map((referral) =>
      referralJson(referral, {
        ...{ referredUser: userOf(referral.referredPerson), referrerUser: userOf(referral.referrerPerson) },
        ...{ referredReward: rewardOf(referral.referredRewardId), referrerReward: rewardOf(referral.referrerRewardId) },
      }),
    );
  }

  /** What a code promises the referred side, by the program as it is now. */
  async codeDetails({ tenant }: Scope, details: Omit<CodeDetails, 'reward'>) {
    const program = programOf(await this.tenant(tenant), details.programId);
    return codeDetailsJson({ ...details, reward: program?.referredReward?.value ?? null });
  }

  private async surroundings(scope: Scope): Promise<{ readonly links: ShareLinks; readonly defaultProgramId: string }> {
    const { defaultProgramId } = await this.tenant(scope.tenant);
    return { links: new ShareLinks(this.publicUrl(), scope), defaultProgramId };
  }

  private async tenant(alias: string): Promise<OpenTenant> {
    const tenant = await this.tenants.find(alias);
    if (!tenant) throw new ApiError('TENANT_NOT_FOUND');
    return tenant;
  }
}

const presentOrNull = <F, J>(facts: F | undefined, present: (facts: F) => J): J | null => (facts === undefined ? null : present(facts));
