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
import { ApiOkResponse } from '@nestjs/swagger';
import { ReferralQueries, type ReferralFilter } from '../../../projections/referrals/queries.js';
import type { SideStatus } from '../../domain/program.js';
import type { Scope } from '../../domain/scope.js';
import { accountOfId, KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiDateQuery, ApiPage, ApiIdQuery, ApiTextQuery } from '../shapes/described-queries.js';
import { ApiEmptyResponse } from '../shapes/empty.response.js';
import { Fails } from '../shapes/openapi.js';
import {
  choiceQuery,
  dateFilter,
  identifierQuery,
  page,
  resourceId,
  type Query,
} from '../shapes/parameters.js';
import { Presentation } from '../users/presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { ModerateReferralsRequest } from './moderate-referrals.request.js';
import { ReferralListResponse, ReferralResponse } from '../../presenting/referral.response.js';

const SIDE_STATUSES: readonly SideStatus[] = ['PENDING', 'APPROVED', 'DENIED'];
/** The answer of a referral contains its people and rewards. */
const READ_MODELS = ['referrals', 'users', 'rewards'];

const ApiReferralFilter = (): MethodDecorator =>
  applyDecorators(
    ApiIdQuery('referringAccountId'),
    ApiIdQuery('referringUserId'),
    ApiIdQuery('referredAccountId'),
    ApiIdQuery('referredUserId'),
    ApiTextQuery('referredModerationStatus', { values: SIDE_STATUSES }),
    ApiTextQuery('referrerModerationStatus', { values: SIDE_STATUSES }),
    ApiDateQuery('dateReferralStarted'),
    ApiDateQuery('dateReferralPaid'),
    ApiDateQuery('dateReferralEnded'),
    ApiPage(),
  );
@Controller(TENANT_PATH)
export class ReferralsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly referrals: ReferralQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @Get('referrals')
  @Access('key')
  @ApiReferralFilter()
  @ApiOkResponse({ type: ReferralListResponse, description: 'Newest first' })
  list(@Call() call: Call, @QueryParameters() query: Query) {
    return this.page(call, query);
  }

  @Get('open/referrals')
  @Access('user-open', { token: 'read', about: 'referral-query', counted: 'list-referrals' })
  @ApiReferralFilter()
  @ApiOkResponse({ type: ReferralListResponse, description: 'Newest first' })
  openList(@Call() call: Call, @QueryParameters() query: Query) {
    const { referrerAccountRef, referrerUserId, referredAccountRef, referredUserId } = this.filter(
      call.scope,
      query,
    );
    const isReferrer = referrerAccountRef !== undefined && referrerUserId !== undefined;
    const isReferred = referredAccountRef !== undefined && referredUserId !== undefined;
    if (!isReferrer && !isReferred) {
      throw badRequest(
        'referringAccountId and referringUserId, or referredAccountId and referredUserId, are required',
      );
    }
    return this.page(call, query);
  }

  @Get('referrals/:referralId')
  @Access('key')
  @ApiOkResponse({ type: ReferralResponse })
  @Fails('REFERRAL_NOT_FOUND')
  async one(@Call() call: Call, @Param('referralId') referralId: string) {
    const id = resourceId(referralId, 'REFERRAL_NOT_FOUND');
    await this.gateway.readable(call, READ_MODELS, accountOfId(id));
    const found = await this.referrals.byId(call.scope, id);
    if (!found) throw new ApiError('REFERRAL_NOT_FOUND');
    return (await this.presentation.referrals(call, [found]))[0];
  }

  @Post('referrals/moderate')
  @HttpCode(200)
  @Access('key')
  @ApiEmptyResponse()
  @Fails('MODERATION_NOT_POSSIBLE')
  moderate(@Call() call: Call, @Body() { actions }: ModerateReferralsRequest) {
    return this.gateway.moderate(call, actions);
  }

  private async page(call: Call, query: Query) {
    const filter = this.filter(call.scope, query);
    const wanted = page(query);
    const { referrerAccountRef, referredAccountRef } = filter;
    await this.gateway.readable(call, READ_MODELS, referrerAccountRef ?? referredAccountRef);
    const { totalCount, items } = await call.aside(() =>
      this.referrals.list(call.scope, filter, wanted),
    );
    const viewer = call.token?.kind === 'user' ? call.token : undefined;
    return {
      count: items.length,
      totalCount,
      referrals: await this.presentation.referrals(call, items, viewer),
    };
  }

  private filter(scope: Scope, query: Query): ReferralFilter {
    const accountOf = (name: string) => {
      const id = identifierQuery(query, name);
      return id === undefined ? undefined : this.names.accountRef(scope, id);
    };
    return {
      referrerAccountRef: accountOf('referringAccountId'),
      referrerUserId: identifierQuery(query, 'referringUserId'),
      referredAccountRef: accountOf('referredAccountId'),
      referredUserId: identifierQuery(query, 'referredUserId'),
      referredStatus: choiceQuery(query, 'referredModerationStatus', SIDE_STATUSES),
      referrerStatus: choiceQuery(query, 'referrerModerationStatus', SIDE_STATUSES),
      started: dateFilter(query, 'dateReferralStarted'),
      paid: dateFilter(query, 'dateReferralPaid'),
      ended: dateFilter(query, 'dateReferralEnded'),
    };
  }
}
