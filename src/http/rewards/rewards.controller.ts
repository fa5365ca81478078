import {
  applyDecorators,
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import { RewardBalanceQueries } from '../../../projections/reward-balances/queries.js';
import { RewardQueries } from '../../../projections/rewards/queries.js';
import { rewards, type RewardContent } from '../../../projections/rewards/table.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import { presentReward, type OpenAccount } from '../../domain/account/account.state.js';
import { rewardFacts } from '../../domain/account/account.facts.js';
import { REWARD_TYPES } from '../../domain/program.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { accountOfId, KeyedNames } from '../../privacy/keyed-names.js';
import { ledgerTime } from '../../tenants/tenant-directory.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiIdQuery, ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import {
  choiceQuery,
  identifier,
  identifierQuery,
  requiredIdentifierQuery,
  resourceId,
  type Query,
} from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { noPersonalFields, personalFieldsOfReward } from '../writing/personal-fields.js';
import {
  ApiCreateRewardBody,
  CreateRewardPipe,
  rewardValueOf,
  type CreateRewardRequest,
} from './create-reward.request.js';
import { BulkRedeemRequest, RedeemRequest } from './redeem.request.js';
import {
  accountRedemptionJson,
  RedemptionResultResponse,
  rewardRedemptionJson,
} from './redemption-result.response.js';
import {
  balanceJson,
  RewardBalanceResponse,
  rewardJson,
  RewardResponse,
  WrittenRewardResponse,
} from '../../presenting/reward.response.js';

const ApiRewardFilter = (): MethodDecorator =>
  applyDecorators(
    ApiIdQuery('accountId', { required: true }),
    ApiIdQuery('userId'),
    ApiTextQuery('rewardTypeFilter', { values: REWARD_TYPES }),
  );
@Controller(TENANT_PATH)
export class RewardsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly rewards: RewardQueries,
    private readonly balances: RewardBalanceQueries,
    private readonly names: KeyedNames,
  ) {}

  @Get('reward/balance')
  @Access('key')
  @ApiRewardFilter()
  @ApiOkResponse({ type: [RewardBalanceResponse], description: 'One entry per type and unit' })
  async balance(@Call() call: Call, @QueryParameters() query: Query) {
    const filter = this.filter(call.scope, query);
    await this.gateway.readable(call, ['reward-balances'], filter.accountRef);
    const now = ledgerTime(call.tenant, call.mode);
    return (await this.balances.list(call.scope, { ...filter, now })).map(balanceJson);
  }

  @Get('reward')
  @Access('key')
  @ApiRewardFilter()
  @ApiOkResponse({ type: [RewardResponse], description: 'Newest first' })
  async list(@Call() call: Call, @QueryParameters() query: Query) {
    const filter = this.filter(call.scope, query);
    await this.gateway.readable(call, ['rewards'], filter.accountRef);
    return (await this.rewards.list(call.scope, filter)).map(rewardJson);
  }

  @Get('reward/:id')
  @HttpCode(201)
  @Access('key')
  @ApiCreatedResponse({ type: RewardResponse })
  @Fails('REWARD_NOT_FOUND')
  async one(@Call() call: Call, @Param('id') id: string) {
    const rewardId = resourceId(id, 'REWARD_NOT_FOUND');
    await this.gateway.readable(call, ['rewards'], accountOfId(rewardId));
    const found = await this.rewards.byId(call.scope, rewardId);
    if (!found) throw new ApiError('REWARD_NOT_FOUND');
    return rewardJson(found);
  }

  @Post('rewards/account/:accountId/user/:userId')
  @HttpCode(201)
  @Access('key')
  @ApiCreateRewardBody()
  @ApiCreatedResponse({ type: WrittenRewardResponse })
  @Fails('USER_NOT_FOUND', 'AMOUNT_TOO_LARGE')
  create(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
    @Body(CreateRewardPipe) body: CreateRewardRequest,
  ) {
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    return this.gateway.write({
      call,
      account,
      command: {
        type: 'CreateReward',
        userId: identifier(userId, 'userId'),
        value: rewardValueOf(body),
        name: body.name ?? null,
        description: body.description ?? null,
        cancellable: body.cancellable ?? true,
        dateScheduledFor: body.dateScheduledFor ?? null,
        dateExpires: body.dateExpires ?? null,
      },
      respond: ({ state, events }) => rewardShown(state, account, granted(events)),
      status: 201,
      personalFields: (written) => personalFieldsOfReward(written, granted(written.events)),
    });
  }

  @Post('credit/bulkredeem')
  @HttpCode(200)
  @Access('key')
  @ApiOkResponse({ type: RedemptionResultResponse })
  @Fails('ACCOUNT_NOT_FOUND', 'INVALD_REWARD_REDEMPTION')
  redeemFromAccount(@Call() call: Call, @Body() body: BulkRedeemRequest) {
    const { accountId, amount, unit } = body;
    return this.gateway.write({
      call,
      account: this.names.accountRef(call.scope, accountId),
      command: { type: 'RedeemAccountCredit', amount, unit },
      respond: (written) => accountRedemptionJson(written, unit),
      personalFields: noPersonalFields,
    });
  }

  @Post('credit/:id/redeem')
  @HttpCode(200)
  @Access('key')
  @ApiOkResponse({ type: RedemptionResultResponse })
  @Fails('REWARD_NOT_FOUND', 'INVALD_REWARD_REDEMPTION')
  redeem(@Call() call: Call, @Param('id') id: string, @Body() { amount, unit }: RedeemRequest) {
    return this.gateway.write({
      call,
      account: () => accountOf(id),
      command: { type: 'RedeemCredit', rewardId: id, amount, unit },
      respond: (written) => rewardRedemptionJson(written, { rewardId: id, unit }),
      personalFields: noPersonalFields,
    });
  }

  @Post('reward/:id/cancel')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiOkResponse({ type: WrittenRewardResponse })
  @Fails('REWARD_NOT_FOUND', 'REWARD_NOT_CANCELLABLE')
  cancel(@Call() call: Call, @Param('id') id: string) {
    const account = () => accountOf(id);
    return this.gateway.write({
      call,
      account,
      command: { type: 'CancelReward', rewardId: id },
      respond: ({ state }) => rewardShown(state, account(), id),
      personalFields: (written) => personalFieldsOfReward(written, id),
    });
  }

  private filter(scope: Scope, query: Query) {
    const accountRef = this.names.accountRef(scope, requiredIdentifierQuery(query, 'accountId'));
    return {
      accountRef,
      userId: identifierQuery(query, 'userId'),
      type: choiceQuery(query, 'rewardTypeFilter', REWARD_TYPES),
    };
  }
}

/** A reward's account is in its id; other ids are unknown. */
function accountOf(rewardId: string): AccountRef {
  const account = accountOfId(rewardId);
  if (account === undefined) throw new ApiError('REWARD_NOT_FOUND');
  return account;
}

function rewardShown(
  state: OpenAccount,
  account: AccountRef,
  rewardId: string | undefined,
): WrittenRewardResponse {
  const reward = rewardId === undefined ? undefined : presentReward(state, rewardId);
  if (!reward) throw new ApiError('REWARD_NOT_FOUND');
  const facts = rewardFacts(state, account, reward);
  return rewardJson({
    ...rewards.rowOf<RewardContent>(facts),
    redemptions: facts.redemptions,
  });
}

const granted = (events: readonly AccountEvent[]): string | undefined =>
  events.find((event) => event.type === 'RewardGranted')?.rewardId;
