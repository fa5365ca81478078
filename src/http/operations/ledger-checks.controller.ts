import { Body, Controller, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import { parseBalances } from '../../operations/ledger/balance-file.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { reconciliationRun, replayRun } from './ledger-runs.js';
import { parsed } from './operator-request.js';
import { reconciliationRequest, replayRequest } from './ledger-checks.request.js';
import { done } from './refusals.js';

@Controller('operations/ledger/:tenant')
export class LedgerChecksController {
  constructor(private readonly ledger: LedgerOperations) {}
  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('replay')
  @ApiRequest(replayRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND', 'ACCOUNT_NOT_FOUND')
  async replay(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, account: accountId, ...options } = parsed(replayRequest, body);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    const request = { ...options, ...(accountId === undefined ? {} : { accountId }) };
    return this.ledger.run(call, scope, replayRun(scope, request));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('reconciliation')
  @ApiRequest(reconciliationRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  async reconcile(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode: scopeMode, period, against: books } = parsed(reconciliationRequest, body);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    const against = books === undefined ? undefined : done(await parseBalances(books, 'against'));
    return this.ledger.run(call, scope, reconciliationRun(scope, { period, against }));
  }
}
