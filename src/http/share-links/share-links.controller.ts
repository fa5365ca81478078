import { Controller, Get, Param, Query as QueryParameters, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { UserQueries } from '../../../projections/users/queries.js';
import type { UserFacts } from '../../domain/account/account.facts.js';
import type { Scope } from '../../domain/scope.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, Caller, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { choiceQuery, identifier, textQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from '../shapes/presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { ENGAGEMENT_MEDIA, SHARE_MEDIA, ShareLinksResponse, ShareUrlsResponse } from './share-links.response.js';

interface UserPath {
  readonly accountId: string;
  readonly userId: string;
}

/** The links that a user shares, by where they are shared. */
@ApiTags('User')
@Controller(TENANT_PATH)
export class ShareLinksController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @ApiOperation({ summary: "A user's links of the default program" })
  @Get('account/:accountId/user/:userId/sharelinks')
  @Access('key')
  @ApiOkResponse({ type: ShareLinksResponse })
  @Fails('USER_NOT_FOUND')
  async links(@Req() request: FastifyRequest, @Caller() { scope }: Caller, @Param() path: UserPath) {
    return this.presentation.shareLinks(scope, await this.user(request, scope, path));
  }

  @ApiOperation({ summary: "A user's links by engagement and share medium" })
  @Get('account/:accountId/user/:userId/shareurls')
  @Access('key')
  @ApiTextQuery('engagementMedium', { values: ENGAGEMENT_MEDIA })
  @ApiTextQuery('shareMedium', { values: SHARE_MEDIA })
  @ApiTextQuery('programId')
  @ApiOkResponse({ type: ShareUrlsResponse })
  @Fails('USER_NOT_FOUND', 'PROGRAM_NOT_FOUND')
  urls(@Req() request: FastifyRequest, @Caller() { scope }: Caller, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(request, scope, path, query);
  }

  @ApiOperation({ summary: "A user's links by engagement and share medium" })
  @Get('open/account/:accountId/user/:userId/shareurls')
  @ApiTags('Open Endpoint')
  @Access('user-open', { token: 'read' })
  @ApiTextQuery('engagementMedium', { values: ENGAGEMENT_MEDIA })
  @ApiTextQuery('shareMedium', { values: SHARE_MEDIA })
  @ApiTextQuery('programId')
  @ApiOkResponse({ type: ShareUrlsResponse })
  @Fails('USER_NOT_FOUND', 'PROGRAM_NOT_FOUND')
  openUrls(@Req() request: FastifyRequest, @Caller() { scope }: Caller, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(request, scope, path, query);
  }

  private async shareUrls(request: FastifyRequest, scope: Scope, path: UserPath, query: Query) {
    const only = {
      engagement: choiceQuery(query, 'engagementMedium', ENGAGEMENT_MEDIA),
      share: choiceQuery(query, 'shareMedium', SHARE_MEDIA),
      programId: textQuery(query, 'programId'),
    };
    return this.presentation.shareUrls(scope, await this.user(request, scope, path), only);
  }

  private async user(request: FastifyRequest, scope: Scope, { accountId, userId }: UserPath): Promise<UserFacts> {
    const account = this.names.accountRef(scope, identifier(accountId, 'accountId'));
    const id = identifier(userId, 'userId');
    await this.gateway.readable(request, ['users']);
    const facts = await this.users.byUserId(scope, account, id);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return facts;
  }
}
