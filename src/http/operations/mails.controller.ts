import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { resendOneMail, showMails } from '../../operations/mails/mail-commands.js';
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { ApiQueries, ApiRequest, DOCUMENT, DOCUMENTS } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { mailsRequest, resendMailRequest } from './mails.request.js';
import { OperationsCore } from './operations-core.js';
import { answered } from './operator-answers.js';
import { parsed, parsedQuery } from './operator-request.js';

@Controller('operations/mails/:tenant')
export class OperatedMailsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly ledger: LedgerOperations,
  ) {}

  @ApiOkResponse({ schema: DOCUMENTS })
  @Get('deliveries')
  @ApiQueries(mailsRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND')
  async deliveries(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, ...filter } = parsedQuery(mailsRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showMails(this.operations.core, scope, filter));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('resend')
  @ApiRequest(resendMailRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'MAIL_NOT_FOUND')
  async resend(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, delivery: id } = parsed(resendMailRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    return this.ledger.onRecord({ operation: 'mail resend', call, scope }, (core) =>
      resendOneMail(core, scope, id),
    );
  }
}
