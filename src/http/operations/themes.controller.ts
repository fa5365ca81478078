import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiBody, ApiOkResponse } from '@nestjs/swagger';
import {
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
} from '../../operations/themes/theme-commands.js';
import { Access } from '../edge/access.js';
import { OperatorCall } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { ApiQueries, ApiRequest, DOCUMENT, DOCUMENTS } from './described-documents.js';
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

  @ApiOkResponse({ schema: DOCUMENT })
  @Get()
  @ApiQueries(shownThemeRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'THEME_NOT_FOUND')
  async show(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, locale, version } = parsedQuery(shownThemeRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showTheme(this.operations.core, scope, { locale, version }));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Put()
  @ApiQueries(themeRequest)
  @ApiBody({ schema: { type: 'object', additionalProperties: true } })
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'VALIDATION_FAILED')
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

  @ApiOkResponse({ schema: DOCUMENTS })
  @Get('history')
  @ApiQueries(themeHistoryRequest)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND')
  async history(@Param('tenant') alias: string, @QueryParameters() query: unknown) {
    const { mode, locale, limit } = parsedQuery(themeHistoryRequest, query);
    const scope = await this.ledger.scopeOf(alias, mode);
    return answered(showThemeHistory(this.operations.core, scope, { locale, limit }));
  }

  @ApiOkResponse({ schema: DOCUMENT })
  @Post('rollback')
  @ApiRequest(themeRollbackRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  @Fails('TENANT_NOT_FOUND', 'THEME_NOT_FOUND', 'VALIDATION_FAILED')
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
