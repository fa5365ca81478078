import { Controller, Delete, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { OPERATOR } from '../../operations/audit.js';
import { cancelOnRecord, listExports } from '../../operations/exports/export-commands.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
  ForOperatorsWithoutBody,
} from './described-documents.js';
import { exportRequest, exportsRequest } from './exports.request.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperationsCore } from './operations-core.js';
import { answered } from './operator-answers.js';
import { parsedQuery } from './operator-request.js';

@Controller('operations/exports/:tenant')
export class OperatedExportsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly ledger: LedgerOperations,
  ) {}

  @Get()
  @ApiQueries(exportsRequest)
  @ForOperators(['support'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async list(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, limit } = parsedQuery(exportsRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    const { core } = this.operations;
    return answered(listExports(core, scope, { projectors: accountProjectors, limit }));
  }

  @Delete(':exportId')
  @ApiQueries(exportRequest)
  @ForOperatorsWithoutBody(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'EXPORT_NOT_FOUND')
  async cancel(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Param('exportId') exportId: string,
    @QueryParameters() query: unknown,
  ) {
    const scope = await this.ledger.scopeOf(alias, parsedQuery(exportRequest, query).mode);
    return this.ledger.onRecord({ operation: 'export cancel', call, scope }, (core) =>
      cancelOnRecord(core, scope, exportId, OPERATOR),
    );
  }
}
