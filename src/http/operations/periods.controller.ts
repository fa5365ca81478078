import { Body, Controller, Param, Post } from '@nestjs/common';
import { changePeriodOnRecord } from '../../operations/ledger/ledger-periods.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { parsed } from './operator-request.js';
import { periodRequest } from './period.request.js';

@Controller('operations/ledger/:tenant')
export class PeriodsController {
  constructor(private readonly ledger: LedgerOperations) {}
  @Post('close')
  @ApiRequest(periodRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  close(@OperatorCall() call: OperatorCall, @Param('tenant') alias: string, @Body() body: unknown) {
    return this.change(call, alias, 'ClosePeriod', body);
  }

  @Post('reopen')
  @ApiRequest(periodRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  reopen(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    return this.change(call, alias, 'ReopenPeriod', body);
  }

  private async change(
    call: OperatorCall,
    alias: string,
    type: 'ClosePeriod' | 'ReopenPeriod',
    body: unknown,
  ) {
    const { mode: scopeMode, period, comment } = parsed(periodRequest, body);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    const operation = type === 'ClosePeriod' ? 'ledger close' : 'ledger reopen';
    const by = call.operator.name;
    return this.ledger.onRecord({ operation, call, scope }, (core) =>
      changePeriodOnRecord(core, scope, type, { period, comment, by }),
    );
  }
}
