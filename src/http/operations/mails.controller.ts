import { Body, Controller, Get, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { resendOneMail, showMails } from '../../operations/mails/mail-commands.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
} from './described-documents.js';
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

  @Get('deliveries')
  @ApiQueries(mailsRequest)
  @ForOperators(['support'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async deliveries(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, ...filter } = parsedQuery(mailsRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showMails(this.operations.core, scope, filter));
  }

  @Post('resend')
  @ApiRequest(resendMailRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'MAIL_NOT_FOUND')
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
