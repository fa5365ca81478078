import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { AccountQueries } from '../../../projections/accounts/queries.js';
import { RewardQueries } from '../../../projections/rewards/queries.js';
import { accountFacts } from '../../domain/account/account.facts.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { rewardJson, RewardResponse } from '../../presenting/reward.response.js';
import { Fails } from '../shapes/openapi.js';
import { identifier } from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { accountJson, AccountResponse, WrittenAccountResponse } from './account.response.js';
import { subscriptionOf, SyncAccountRequest } from './sync-account.request.js';

@Controller(TENANT_PATH)
export class AccountsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly accounts: AccountQueries,
    private readonly rewards: RewardQueries,
    private readonly names: KeyedNames,
  ) {}

  @Post('accountsync')
  @HttpCode(200)
  @Access('key', { apiOnlyPrograms: true })
  @ApiOkResponse({ type: WrittenAccountResponse, description: 'The stored account' })
  sync(@Call() call: Call, @Body() body: SyncAccountRequest) {
    const code = body.referral?.code;
    return this.gateway.write({
      call,
      account: this.names.accountRef(call.scope, body.id),
      command: {
        type: 'SyncAccount',
        accountId: body.id,
        subscription: subscriptionOf(body.subscription),
        currency: body.currency,
        codes: code === undefined ? [] : [code],
      },
      respond: ({ state }) => accountJson(accountFacts(state)),
      personalFields: ({ state }) => [
        { subject: state.account, members: ['id'] },
        ...(state.attribution
          ? [{ subject: state.attribution.codeSubject, members: ['referral'] }]
          : []),
      ],
    });
  }

  @Get('account/:accountId')
  @Access('key', { apiOnlyPrograms: true })
  @ApiOkResponse({ type: AccountResponse })
  @Fails('ACCOUNT_NOT_FOUND')
  async account(@Call() call: Call, @Param('accountId') accountId: string) {
    const accountRef = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    await this.gateway.readable(call, ['accounts'], accountRef);
    const facts = await this.accounts.byRef(call.scope, accountRef);
    if (!facts) throw new ApiError('ACCOUNT_NOT_FOUND');
    return accountJson(facts);
  }

  @Get('account/:accountId/reward')
  @Access('key')
  @ApiOkResponse({ type: [RewardResponse], description: 'Newest first' })
  @Fails('ACCOUNT_NOT_FOUND')
  async rewardsOf(@Call() call: Call, @Param('accountId') accountId: string) {
    const accountRef = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    await this.gateway.readable(call, ['accounts', 'rewards'], accountRef);
    if (!(await this.accounts.byRef(call.scope, accountRef)))
      throw new ApiError('ACCOUNT_NOT_FOUND');
    return (await this.rewards.list(call.scope, { accountRef })).map(rewardJson);
  }
}
