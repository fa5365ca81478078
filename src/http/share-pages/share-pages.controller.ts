import { applyDecorators, Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { Mode } from '../../domain/scope.js';
import { ledgerOf } from '../../domain/tenant/test-clock.js';
import { Access, TENANT_PARAMETER } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { referralCode } from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { errorPageOfVisitors, sendPage } from './page-answers.js';
import { SharePages } from './share-pages.js';

/** A route that answers with a page. */
const ShowsPage = (): MethodDecorator =>
  applyDecorators(
    Access('tenant', { counted: 'short-link', page: errorPageOfVisitors }),
    ApiOkResponse({
      description: 'The page, in a language of `Accept-Language` that the theme has',
      content: { 'text/html': { schema: { type: 'string' } } },
    }),
    Fails('REFERRAL_CODE_NOT_FOUND'),
  );
@Controller(`r/:${TENANT_PARAMETER}`)
export class SharePagesController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly pages: SharePages,
  ) {}

  @Get(':code')
  @ShowsPage()
  live(@Call() call: Call, @Param('code') code: string) {
    return this.show(call, 'live', code);
  }

  @Get('test/:code')
  @ShowsPage()
  test(@Call() call: Call, @Param('code') code: string) {
    return this.show(call, 'test', code);
  }

  private async show(call: Call, mode: Mode, code: string): Promise<string> {
    const scope = ledgerOf(call.tenant, mode);
    const wanted = referralCode(code);
    await this.gateway.readable({ ...call, scope }, []);
    const acceptLanguage = call.headers['accept-language'];
    const page = await this.pages.find({
      tenant: call.tenant,
      scope,
      code: wanted,
      acceptLanguage,
    });
    if (page === undefined) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    return sendPage(call.reply, page);
  }
}
