import { Body, Controller, Get, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import { OPERATOR } from '../../operations/audit.js';
import { NotDone } from '../../operations/outcome.js';
import {
  connectPayments,
  disconnectPayments,
  showPayer,
  showPayments,
} from '../../operations/payments/payment-commands.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiQueries, ApiRequest, DOCUMENT, ForOperators } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperatedPayments } from './operated-payments.js';
import { OperationsCore } from './operations-core.js';
import { answered } from './operator-answers.js';
import { parsed, parsedQuery } from './operator-request.js';
import { paymentReconciliationRun, syncRun } from './payment-runs.js';
import {
  connectRequest,
  scopeRequest,
  shownPaymentsRequest,
  syncRequest,
} from './payments.request.js';

@Controller('operations/payments/:tenant')
export class PaymentsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly ledger: LedgerOperations,
    private readonly payments: OperatedPayments,
  ) {}

  @Get()
  @ApiQueries(shownPaymentsRequest)
  @ForOperators(['finance', 'support'], DOCUMENT, 'TENANT_NOT_FOUND', 'ACCOUNT_NOT_FOUND')
  async show(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, account } = parsedQuery(shownPaymentsRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    const { core } = this.operations;
    return answered<object>(
      account === undefined
        ? showPayments(core, this.payments, scope)
        : showPayer(core, scope, account),
    );
  }

  @Post('connect')
  @ApiRequest(connectRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND')
  async connect(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, ...asked } = parsed(connectRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    return this.ledger.onRecord({ operation: 'payment connect', call, scope }, async (core) => {
      const request = { ...asked, actor: OPERATOR };
      const result = await connectPayments(core, this.payments, scope, request);
      if (result instanceof NotDone) return result;
      return { result, parameters: {}, completed: 'the payment provider is connected' };
    });
  }

  @Post('disconnect')
  @ApiRequest(scopeRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND')
  async disconnect(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const scope = await this.ledger.scopeOf(alias, parsed(scopeRequest, body).mode);
    return this.ledger.onRecord({ operation: 'payment disconnect', call, scope }, async (core) => {
      const result = await disconnectPayments(core, this.payments, scope, OPERATOR);
      if (result instanceof NotDone) return result;
      return { result, parameters: {}, completed: 'the payment provider is disconnected' };
    });
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('sync')
  @ApiRequest(syncRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND')
  async sync(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, since } = parsed(syncRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    return this.ledger.run(call, scope, syncRun(this.payments, scope, since));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('reconciliation')
  @ApiRequest(scopeRequest)
  @ForOperators(['finance'], DOCUMENT, 'TENANT_NOT_FOUND')
  async reconcile(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const scope = await this.ledger.scopeOf(alias, parsed(scopeRequest, body).mode);
    return this.ledger.run(call, scope, paymentReconciliationRun(this.payments, scope));
  }
}
