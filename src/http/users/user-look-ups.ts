import type { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import type { UserQueries } from '../../../projections/users/queries.js';
import type { UserFacts } from '../../domain/account/account.facts.js';
import type { AccountRef } from '../../domain/scope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import type { Call } from '../credentials/call.js';
import { ApiError } from '../edge/api-error.js';
import { identifier, requiredCodeQuery, type Query } from '../shapes/parameters.js';
import type { CommandGateway } from '../writing/command-gateway.js';

export interface UserPath {
  readonly accountId: string;
  readonly userId: string;
}

/** Finds users by paths and codes. */
export class UserLookUps {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserQueries,
    private readonly codes: ReferralCodeQueries,
    private readonly names: KeyedNames,
  ) {}

  /** @throws {ApiError} BAD_REQUEST. */
  named(
    { scope }: Pick<Call, 'scope'>,
    { accountId, userId }: UserPath,
  ): { readonly account: AccountRef; readonly userId: string } {
    const account = this.names.accountRef(scope, identifier(accountId, 'accountId'));
    return { account, userId: identifier(userId, 'userId') };
  }

  /** @throws {ApiError} BAD_REQUEST, USER_NOT_FOUND. */
  async byPath(call: Call, path: UserPath, readModels = ['users']): Promise<UserFacts> {
    const { account, userId } = this.named(call, path);
    await this.gateway.readable(call, readModels, account);
    const facts = await this.users.byUserId(call.scope, account, userId);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return facts;
  }

  /**
   * The owner of the query's code. @param showsBlocked otherwise a blocked user's code is unknown.
   * @throws {ApiError} BAD_REQUEST, REFERRAL_CODE_NOT_FOUND.
   */
  async byCode(call: Call, query: Query, showsBlocked: boolean): Promise<UserFacts> {
    const code = requiredCodeQuery(query, 'referralCode');
    await this.gateway.readable(call, ['referral-codes', 'users']);
    const found = await this.codes.byCode(call.scope, code);
    if (found) await this.gateway.refuseUnreadable(found.accountRef);
    const owner =
      found && (showsBlocked || !found.ownerBlocked)
        ? (await this.users.byPersons(call.scope, [found.person])).get(found.person)
        : undefined;
    if (!owner) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    return owner;
  }
}
