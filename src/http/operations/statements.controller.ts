import { Controller, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { statementOnRecord } from '../../operations/ledger/ledger-statement.js';
import { tenantStatementOnRecord } from '../../operations/ledger/tenant-statement.js';
import { OperatorCall } from '../credentials/call.js';
import { ApiQueries, DOCUMENT, ForOperators } from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { parsedQuery } from './operator-request.js';
import { statementQuery, tenantStatementQuery } from './statement.request.js';

@Controller('operations/ledger/:tenant')
export class StatementsController {
  constructor(private readonly ledger: LedgerOperations) {}
  @Get('statement')
  @ApiQueries(statementQuery)
  @ForOperators(['finance', 'viewer'], DOCUMENT, 'TENANT_NOT_FOUND', 'ACCOUNT_NOT_FOUND')
  async statement(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @QueryParameters() query: unknown,
  ) {
    const {
      account: accountId,
      mode: scopeMode,
      ...selection
    } = parsedQuery(statementQuery, query);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    return this.ledger.onRecord({ operation: 'ledger statement', call, scope }, (core) =>
      statementOnRecord(core, scope, { accountId, ...selection }),
    );
  }

  @Get('tenant-statement')
  @ApiQueries(tenantStatementQuery)
  @ForOperators(['finance', 'viewer'], DOCUMENT, 'TENANT_NOT_FOUND')
  async ofTenant(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @QueryParameters() query: unknown,
  ) {
    const { mode: scopeMode, ...period } = parsedQuery(tenantStatementQuery, query);
    const scope = await this.ledger.scopeOf(alias, scopeMode);
    return this.ledger.onRecord({ operation: 'ledger tenant-statement', call, scope }, (core) =>
      tenantStatementOnRecord(core, scope, period, accountProjectors),
    );
  }
}
