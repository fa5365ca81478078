import type { RewardQueries } from '../../../projections/rewards/queries.js';
import type { UserQueries } from '../../../projections/users/queries.js';
import type { PersonId } from '../../domain/account/account.events.js';
import {
  type ReferralFacts,
  userFacts,
  type UserFacts,
} from '../../domain/account/account.facts.js';
import type { AccountRef } from '../../domain/scope.js';
import { publicUserOf } from '../../domain/tenant/open-rules.js';
import type { Call } from '../credentials/call.js';
import { ApiError } from '../edge/api-error.js';
import { referralJson, type ReferralResponse } from '../../presenting/referral.response.js';
import { rewardJson } from '../../presenting/reward.response.js';
import type {
  EngagementMedium,
  ShareLinksResponse,
  ShareMedium,
  ShareUrlsResponse,
} from '../../presenting/share-links.response.js';
import { codeForLinks } from './code-for-links.js';
import { ShareLinks } from '../../presenting/share-links.js';
import {
  minimalUser,
  reducedForOtherParty,
  publicUserJson,
  selectedUserJson,
  userJson,
  type PublicUserResponse,
  type UserResponse,
} from '../../presenting/user.response.js';
import type { Written } from '../writing/command-gateway.js';
import { personOfWrite } from '../writing/personal-fields.js';

interface Viewer {
  readonly accountId: string;
  readonly userId: string;
}

type OfTenant = Pick<Call, 'scope' | 'tenant'>;

export interface UserOfAccount {
  readonly account: AccountRef;
  readonly userId: string;
}

/** Combines facts with links, programs and other parties for the presenters. */
export class Presentation {
  constructor(
    private readonly users: UserQueries,
    private readonly rewards: RewardQueries,
    private readonly publicUrl: () => string,
  ) {}

  user(call: OfTenant, facts: UserFacts, newlyReferred = false): UserResponse {
    return userJson(facts, { ...this.surroundings(call), newlyReferred });
  }

  /** The user after a write. @throws {ApiError} USER_NOT_FOUND when the write has no user. */
  written(
    call: OfTenant,
    { state, events }: Written,
    { account, userId }: UserOfAccount,
    selection?: readonly string[],
  ) {
    const person = personOfWrite({ state, events }, userId);
    const facts = person === undefined ? undefined : userFacts(state, account, person);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    const newlyReferred = events.some(
      (event) => event.type === 'ReferralStarted' && event.referred.person === person,
    );
    const user = this.user(call, facts, newlyReferred);
    return selection === undefined ? user : selectedUserJson(user, facts, selection);
  }

  /** A user as the tenant shows it publicly. */
  publicUser({ tenant }: OfTenant, facts: UserFacts): PublicUserResponse {
    const { defaultProgramId, openRules } = tenant;
    const user = publicUserJson(facts, defaultProgramId);
    return publicUserOf(openRules) === 'minimal' ? minimalUser(user) : user;
  }

  /** Links of the default program as a flat object. */
  shareLinks(call: OfTenant, facts: UserFacts): ShareLinksResponse {
    const { links, code } = this.linksOf(call, facts, undefined);
    return links.flat(code);
  }

  /** @throws {ApiError} PROGRAM_NOT_FOUND. */
  shareUrls(
    call: OfTenant,
    facts: UserFacts,
    only: {
      readonly engagement?: EngagementMedium | undefined;
      readonly share?: ShareMedium | undefined;
      readonly programId?: string | undefined;
    },
  ): ShareUrlsResponse {
    const { links, code } = this.linksOf(call, facts, only.programId);
    return links.urls(code, only);
  }

  private linksOf(call: OfTenant, { referralCodes }: UserFacts, programId: string | undefined) {
    const { programs, defaultProgramId } = call.tenant;
    const code = codeForLinks(referralCodes, Object.keys(programs), programId, defaultProgramId);
    return { links: this.surroundings(call).links, code };
  }

  /**
   * Referrals with users and rewards, in two queries; deleted sides are null.
   * @param viewer the token's user, who sees less of others; undefined: an API key.
   */
  async referrals(
    call: OfTenant,
    referrals: readonly ReferralFacts[],
    viewer?: Viewer,
  ): Promise<ReferralResponse[]> {
    const { scope } = call;
    const surroundings = this.surroundings(call);
    const persons = referrals.flatMap(({ referredPerson, referrerPerson }) => [
      referredPerson,
      referrerPerson,
    ]);
    const rewardIds = referrals.flatMap(({ referredRewardId, referrerRewardId }) => [
      referredRewardId,
      referrerRewardId,
    ]);
    const [users, rewards] = await Promise.all([
      this.users.byPersons(scope, [...new Set(persons)]),
      this.rewards.byIds(scope, [...new Set(rewardIds.filter((id) => id !== null))]),
    ]);
    const isOther = (accountId: string, userId: string): boolean =>
      viewer !== undefined && (accountId !== viewer.accountId || userId !== viewer.userId);
    const userOf = (person: PersonId) =>
      presentOrNull(users.get(person), (facts) => {
        const user = userJson(facts, surroundings);
        return isOther(user.accountId, user.id) ? reducedForOtherParty(user) : user;
      });
    const rewardOf = (id: string | null) =>
      presentOrNull(id === null ? undefined : rewards.get(id), (found) => {
        const reward = rewardJson(found);
        // A tank code is worth its amount to each person who knows it.
        return isOther(reward.accountId, reward.userId)
          ? { ...reward, fuelTankCode: null }
          : reward;
      });
    return referrals.map((referral) =>
      referralJson(referral, {
        referredUser: userOf(referral.referredPerson),
        referrerUser: userOf(referral.referrerPerson),
        referredReward: rewardOf(referral.referredRewardId),
        referrerReward: rewardOf(referral.referrerRewardId),
      }),
    );
  }

  private surroundings({ scope, tenant }: OfTenant) {
    const { defaultProgramId } = tenant;
    return { links: new ShareLinks(this.publicUrl(), scope), defaultProgramId };
  }
}

const presentOrNull = <F, J>(facts: F | undefined, present: (facts: F) => J): J | null =>
  facts === undefined ? null : present(facts);
