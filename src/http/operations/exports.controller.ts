import { Controller, Delete, Get, Param, Query as QueryParameters } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { accountProjectors } from '../../../projections/account-projectors.js';
import { OPERATOR } from '../../operations/audit.js';
import { cancelOnRecord, listExports } from '../../operations/exports/export-commands.js';
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { ApiQueries, DOCUMENT, DOCUMENTS } from './described-documents.js';
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

  @ApiOkResponse({ schema: DOCUMENTS })
  @Get()
  @ApiQueries(exportsRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND')
  async list(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, limit } = parsedQuery(exportsRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    const { core } = this.operations;
    return answered(listExports(core, scope, { projectors: accountProjectors, limit }));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Delete(':exportId')
  @ApiQueries(exportRequest)
  @Access('operator', { roles: ['support'], emptyBody: true })
  @Fails('TENANT_NOT_FOUND', 'EXPORT_NOT_FOUND')
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
