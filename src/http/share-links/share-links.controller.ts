import { PLAIN } from '../../foundation/outside-text.js';
import { applyDecorators, Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { choiceQuery, textQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from '../users/presentation.js';
import { UserLookUps, type UserPath } from '../users/user-look-ups.js';
import {
  ENGAGEMENT_MEDIA,
  SHARE_MEDIA,
  ShareLinksResponse,
  ShareUrlsResponse,
} from '../../presenting/share-links.response.js';

/** Describes the query and the answer of both routes. */
const ApiShareUrls = (): MethodDecorator =>
  applyDecorators(
    ApiTextQuery('engagementMedium', { values: ENGAGEMENT_MEDIA }),
    ApiTextQuery('shareMedium', { values: SHARE_MEDIA }),
    ApiTextQuery('programId', { pattern: PLAIN }),
    ApiOkResponse({ type: ShareUrlsResponse }),
    Fails('USER_NOT_FOUND', 'PROGRAM_NOT_FOUND'),
  );

@Controller(TENANT_PATH)
export class ShareLinksController {
  constructor(
    private readonly users: UserLookUps,
    private readonly presentation: Presentation,
  ) {}

  @Get('account/:accountId/user/:userId/sharelinks')
  @Access('key')
  @ApiOkResponse({ type: ShareLinksResponse })
  @Fails('USER_NOT_FOUND')
  async links(@Call() call: Call, @Param() path: UserPath) {
    return this.presentation.shareLinks(call, await this.users.byPath(call, path));
  }

  @Get('account/:accountId/user/:userId/shareurls')
  @Access('key')
  @ApiShareUrls()
  urls(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(call, path, query);
  }

  @Get('open/account/:accountId/user/:userId/shareurls')
  @Access('user-open', { token: 'read' })
  @ApiShareUrls()
  openUrls(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    return this.shareUrls(call, path, query);
  }

  private async shareUrls(call: Call, path: UserPath, query: Query) {
    const only = {
      engagement: choiceQuery(query, 'engagementMedium', ENGAGEMENT_MEDIA),
      share: choiceQuery(query, 'shareMedium', SHARE_MEDIA),
      programId: textQuery(query, 'programId'),
    };
    return this.presentation.shareUrls(call, await this.users.byPath(call, path), only);
  }
}
