import { PLAIN } from '../../foundation/outside-text.js';
import { Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { UserQueries } from '../../../projections/users/queries.js';
import type { UserFacts } from '../../domain/account/account.facts.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { choiceQuery, identifier, textQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from '../users/presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import {
  ENGAGEMENT_MEDIA,
  SHARE_MEDIA,
  ShareLinksResponse,
  ShareUrlsResponse,
} from '../../presenting/share-links.response.js';

interface UserPath {
  readonly accountId: string;
  readonly userId: string;
}

@Controller(TENANT_PATH)
export class ShareLinksController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @Get('account/:accountId/user/:userId/sharelinks')
  @Access('key')
  @ApiOkResponse({ type: ShareLinksResponse })
  @Fails('USER_NOT_FOUND')
  async links(@Call() call: Call, @Param() path: UserPath) {
    return this.presentation.shareLinks(call.scope, await this.user(call, path));
  }

  @Get('account/:accountId/user/:userId/shareurls')
  @Access('key')
  @ApiTextQuery('engagementMedium', { values: ENGAGEMENT_MEDIA })
  @ApiTextQuery('shareMedium', { values: SHARE_MEDIA })
  @ApiTextQuery('programId', { pattern: PLAIN })
  @ApiOkResponse({ type: ShareUrlsResponse })
  @Fails('USER_NOT_FOUND', 'PROGRAM_NOT_FOUND')
  urls(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(call, path, query);
  }

  @Get('open/account/:accountId/user/:userId/shareurls')
  @Access('user-open', { token: 'read' })
  @ApiTextQuery('engagementMedium', { values: ENGAGEMENT_MEDIA })
  @ApiTextQuery('shareMedium', { values: SHARE_MEDIA })
  @ApiTextQuery('programId', { pattern: PLAIN })
  @ApiOkResponse({ type: ShareUrlsResponse })
  @Fails('USER_NOT_FOUND', 'PROGRAM_NOT_FOUND')
  openUrls(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(call, path, query);
  }

  private async shareUrls(call: Call, path: UserPath, query: Query) {
    const only = {
      engagement: choiceQuery(query, 'engagementMedium', ENGAGEMENT_MEDIA),
      share: choiceQuery(query, 'shareMedium', SHARE_MEDIA),
      programId: textQuery(query, 'programId'),
    };
    return this.presentation.shareUrls(call.scope, await this.user(call, path), only);
  }

  private async user(call: Call, { accountId, userId }: UserPath): Promise<UserFacts> {
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    const id = identifier(userId, 'userId');
    await this.gateway.readable(call, ['users'], account);
    const facts = await this.users.byUserId(call.scope, account, id);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return facts;
  }
}
