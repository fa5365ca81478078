import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import { asDigestDocument } from '../../chain/digest-document.js';
import { badRequest } from '../edge/api-error.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { digestRun, verificationRun } from './ledger-runs.js';
import { parsed } from './operator-request.js';
import { digestRequest, verificationRequest } from './chain.request.js';

@Controller('operations/ledger/:tenant')
export class ChainController {
  constructor(private readonly ledger: LedgerOperations) {}
  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('digest')
  @ApiRequest(digestRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  async digest(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, sign } = parsed(digestRequest, body);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    return this.ledger.run(call, scope, digestRun(scope, sign));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('verification')
  @ApiRequest(verificationRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  async verify(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, digest } = parsed(verificationRequest, body);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    const outside = digest === undefined ? undefined : asDigestDocument(digest);
    if (digest !== undefined && outside === undefined)
      throw badRequest('digest is not what the digest operation answers');
    if (outside !== undefined && (outside.tenant !== scope.tenant || outside.mode !== scope.mode))
      throw badRequest(`digest is of ${outside.tenant} in ${outside.mode} mode`);
    return this.ledger.run(call, scope, verificationRun(scope, outside));
  }
}
