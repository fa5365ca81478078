import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { changePeriodOnRecord } from '../../operations/ledger/ledger-periods.js';
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { ApiRequest, DOCUMENT } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { parsed } from './operator-request.js';
import { periodRequest } from './period.request.js';

@Controller('operations/ledger/:tenant')
export class PeriodsController {
  constructor(private readonly ledger: LedgerOperations) {}
  @ApiOkResponse({ schema: DOCUMENT })
  @Post('close')
  @ApiRequest(periodRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
  close(@OperatorCall() call: OperatorCall, @Param('tenant') alias: string, @Body() body: unknown) {
    return this.change(call, alias, 'ClosePeriod', body);
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('reopen')
  @ApiRequest(periodRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['finance'] })
  @Fails('TENANT_NOT_FOUND')
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
