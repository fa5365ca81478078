import { Readable } from 'node:stream';
import { Controller, Delete, Get, HttpCode, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse } from '@nestjs/swagger';
import { ReferralQueries, type ReferralPlace } from '../../../projections/referrals/queries.js';
import { RewardBalanceQueries } from '../../../projections/reward-balances/queries.js';
import { RewardQueries, type RewardPlace } from '../../../projections/rewards/queries.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import type { ReferralResponse } from '../../presenting/referral.response.js';
import { balanceJson, rewardJson, type RewardResponse } from '../../presenting/reward.response.js';
import { ApiBooleanQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { booleanQuery, identifier, type Query } from '../shapes/parameters.js';
import { Presentation } from '../users/presentation.js';
import { UserLookUps, type UserPath } from '../users/user-look-ups.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { pages, recordText } from './personal-record.js';
import { personalRecordJson, PersonalRecordResponse } from './personal-record.response.js';

const READ_MODELS = ['users', 'referrals', 'rewards', 'reward-balances'];
/** Referrals and rewards in memory. */
const PAGE = 200;

@Controller(TENANT_PATH)
export class PersonalDataController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserLookUps,
    private readonly referrals: ReferralQueries,
    private readonly rewards: RewardQueries,
    private readonly balances: RewardBalanceQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @Get('account/:accountId/user/:userId/pii')
  @Access('key')
  @ApiOkResponse({ type: PersonalRecordResponse })
  @Fails('USER_NOT_FOUND')
  async record(@Call() call: Call, @Param() path: UserPath): Promise<Readable> {
    const facts = await this.users.byPath(call, path, READ_MODELS);
    const { accountRef, userId } = facts;
    const [received, balances] = await Promise.all([
      this.referrals.list(
        call.scope,
        { referredAccountRef: accountRef, referredUserId: userId },
        { limit: 1, offset: 0 },
      ),
      this.balances.list(call.scope, {
        accountRef,
        userId,
        now: ledgerTime(call.tenant, call.mode),
      }),
    ]);
    const [referredBy] = await this.presentation.referrals(call, received.items);
    const record = personalRecordJson(facts, this.presentation.user(call, facts), {
      referredByReferral: referredBy ?? null,
      rewardBalances: balances.map(balanceJson),
    });
    await this.gateway.recordAccess(call, accountRef, facts.person);
    const whose = { accountRef, person: facts.person };
    const lists = {
      rewards: pages<RewardResponse, RewardPlace>(async (after) => {
        const { items, next } = await this.rewards.pageOf(call.scope, whose, after, PAGE);
        return { items: items.map(rewardJson), next };
      }),
      referrals: pages<ReferralResponse, ReferralPlace>(async (after) => {
        const { items, next } = await this.referrals.pageMadeBy(call.scope, whose, after, PAGE);
        return { items: await this.presentation.referrals(call, items), next };
      }),
    };
    void call.reply.header('content-type', 'application/json; charset=utf-8');
    return Readable.from(recordText(record, lists));
  }

  @Delete('open/account/:accountId/user/:userId')
  @HttpCode(204)
  @Access('key-open')
  @ApiBooleanQuery('doNotTrack', { fallback: false })
  @ApiBooleanQuery('preserveEmptyAccount', { fallback: true })
  @ApiNoContentResponse({ description: 'Forgotten' })
  @Fails('USER_NOT_FOUND')
  forgetUser(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    const { account, userId } = this.users.named(call, path);
    return this.gateway.forget(call, account, {
      type: 'ForgetUser',
      userId,
      doNotTrack: booleanQuery(query, 'doNotTrack', false),
      preserveEmptyAccount: booleanQuery(query, 'preserveEmptyAccount', true),
    });
  }

  @Delete('open/account/:accountId')
  @HttpCode(204)
  @Access('key-open')
  @ApiBooleanQuery('doNotTrack', { fallback: false })
  @ApiNoContentResponse({ description: 'Forgotten' })
  @Fails('ACCOUNT_NOT_FOUND')
  forgetAccount(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @QueryParameters() query: Query,
  ) {
    return this.gateway.forget(
      call,
      this.names.accountRef(call.scope, identifier(accountId, 'accountId')),
      { type: 'ForgetAccount', doNotTrack: booleanQuery(query, 'doNotTrack', false) },
    );
  }
}
