import {
  applyDecorators,
  Controller,
  Get,
  HttpCode,
  Param,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiFoundResponse } from '@nestjs/swagger';
import type { Mode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { Access, TENANT_PARAMETER } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { referralCode, type Query } from '../shapes/parameters.js';
import { ShareLinkRedirects } from './share-link-redirects.js';
import { ENGAGEMENT_MEDIA, SHARE_MEDIA } from '../../presenting/share-links.response.js';

const Redirects = (): MethodDecorator =>
  applyDecorators(
    HttpCode(302),
    Access('tenant', { counted: 'short-link' }),
    ApiTextQuery('m'),
    ApiTextQuery('e'),
    ApiFoundResponse({
      description: 'The landing page, with `rsCode`, `rsShareMedium` and `rsEngagementMedium`',
    }),
    Fails('REFERRAL_CODE_NOT_FOUND'),
  );
@Controller(`s/:${TENANT_PARAMETER}`)
export class ShortLinksController {
  constructor(private readonly redirects: ShareLinkRedirects) {}
  @Get(':code')
  @Redirects()
  live(@Call() call: Call, @Param('code') code: string, @QueryParameters() query: Query) {
    return this.lead(call, 'live', code, query);
  }

  @Get('test/:code')
  @Redirects()
  test(@Call() call: Call, @Param('code') code: string, @QueryParameters() query: Query) {
    return this.lead(call, 'test', code, query);
  }

  private async lead(call: Call, mode: Mode, code: string, query: Query): Promise<void> {
    const target = await this.redirects.targetOf({
      tenant: call.tenant,
      scope: ledgerOf(call.tenant, mode),
      code: referralCode(code),
      shareMedium: mediumIn(query['m'], SHARE_MEDIA),
      engagementMedium: mediumIn(query['e'], ENGAGEMENT_MEDIA),
      isVisit: call.method === 'GET',
    });
    // A link is permanent, but the program's page may change.
    void call.reply.header('Location', target).header('Cache-Control', 'no-store');
  }
}

/** An invalid medium still redirects. */
const mediumIn = <T extends string>(value: unknown, media: readonly T[]): T | 'UNKNOWN' =>
  media.find((medium) => medium === value) ?? 'UNKNOWN';
