import { Body, Controller, Get, Param, Post, Put, Query as QueryParameters } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import {
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
} from '../../operations/themes/theme-commands.js';
import { THEME_VALUES } from '../../themes/theme-schema.js';
import { DOCUMENT as THEME_DOCUMENT } from '../themes/themes.controller.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
} from './described-documents.js';
import { LedgerOperations } from './ledger-operations.js';
import { OperationsCore } from './operations-core.js';
import { answered } from './operator-answers.js';
import { parsed, parsedQuery } from './operator-request.js';
import {
  shownThemeRequest,
  themeHistoryRequest,
  themeRequest,
  themeRollbackRequest,
} from './themes.request.js';

@Controller('operations/themes/:tenant')
export class OperatedThemesController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly ledger: LedgerOperations,
  ) {}

  @Get()
  @ApiQueries(shownThemeRequest)
  @ForOperators(['support'], THEME_VALUES, 'TENANT_NOT_FOUND', 'THEME_NOT_FOUND')
  async show(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, locale, version } = parsedQuery(shownThemeRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showTheme(this.operations.core, scope, { locale, version }));
  }

  @Put()
  @ApiQueries(themeRequest)
  @ApiBody({ schema: THEME_DOCUMENT })
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'VALIDATION_FAILED')
  async put(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @QueryParameters() query: unknown,
    @Body() values: unknown,
  ) {
    const { mode, locale } = parsedQuery(themeRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    const by = call.operator.name;
    return this.ledger.onRecord({ operation: 'theme put', call, scope }, (core) =>
      putTheme(core, scope, { locale, values, by }),
    );
  }

  @Get('history')
  @ApiQueries(themeHistoryRequest)
  @ForOperators(['support'], DOCUMENTS, 'TENANT_NOT_FOUND')
  async history(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, locale, limit } = parsedQuery(themeHistoryRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showThemeHistory(this.operations.core, scope, { locale, limit }));
  }

  @Post('rollback')
  @ApiRequest(themeRollbackRequest)
  @ForOperators(['support'], DOCUMENT, 'TENANT_NOT_FOUND', 'THEME_NOT_FOUND', 'VALIDATION_FAILED')
  async rollBack(
    @OperatorCall() call: OperatorCall,
    @Param('tenant') alias: string,
    @Body() body: unknown,
  ) {
    const { mode, locale, version } = parsed(themeRollbackRequest, body);
    const scope = await this.ledger.scopeOf(alias, mode);
    const by = call.operator.name;
    return this.ledger.onRecord({ operation: 'theme rollback', call, scope }, (core) =>
      rollBackTheme(core, scope, { locale, version, by }),
    );
  }
}
