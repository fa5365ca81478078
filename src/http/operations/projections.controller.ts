import { Body, Controller, Get, Param, Post, Query as QueryParameters } from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import {
  showHistory,
  showParkedStreams,
  showStatus,
} from '../../operations/projections/projection-commands.js';
import {
  onProjections,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import type { Outcome } from '../../operations/outcome.js';
import { badRequest } from '../edge/api-error.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
  ForOperatorsWithoutBody,
} from './described-documents.js';
import { OperationRuns } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answered, answerWithRun } from './operator-answers.js';
import { limitRequest, parsed, parsedQuery } from './operator-request.js';
import {
  diffRun,
  rebuildRun,
  repairRun,
  retryParkedRun,
  rollBackRun,
  skipRun,
  startProjectionRun,
  swapRun,
  type ProjectionRun,
} from './projection-runs.js';
import {
  choiceRequest,
  diffRequest,
  rebuildRequest,
  retryRequest,
  skipRequest,
} from './projections.request.js';

@Controller('operations/projections')
export class ProjectionsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @Get()
  @ForOperators(['support', 'finance'], DOCUMENTS)
  status(@OperatorCall() call: OperatorCall) {
    return this.read(call, showStatus);
  }

  @Get('parked')
  @ApiQueries(limitRequest)
  @ForOperators(['support'], DOCUMENTS)
  parked(@OperatorCall() call: OperatorCall, @QueryParameters() query: unknown) {
    const { limit } = parsedQuery(limitRequest, query);
    return this.read(call, (projections) => showParkedStreams(projections, limit));
  }

  @Get('history')
  @ApiQueries(limitRequest)
  @ForOperators(['support'], DOCUMENTS)
  history(@OperatorCall() call: OperatorCall, @QueryParameters() query: unknown) {
    const { limit } = parsedQuery(limitRequest, query);
    return this.read(call, (projections) => showHistory(projections, limit));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('rebuild')
  @ApiRequest(rebuildRequest)
  @ForOperators(
    ['support'],
    DOCUMENT,
    'PROJECTION_NOT_FOUND',
    'TENANT_NOT_FOUND',
    'ACCOUNT_NOT_FOUND',
  )
  rebuild(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const {
      projection,
      all,
      dryRun,
      resume,
      tenant,
      account,
      mode: scopeMode,
    } = parsed(rebuildRequest, body);
    if (tenant === undefined && account !== undefined) throw badRequest('account needs tenant');
    if (tenant !== undefined && (dryRun || resume))
      throw badRequest('dryRun and resume are for whole projections');
    if (dryRun && resume) throw badRequest('dryRun and resume exclude each other');
    const choice = { name: projection, all };
    if (tenant === undefined)
      return this.run(call, rebuildRun(choice, { isDryRun: dryRun, resume }));
    const part = { tenant, mode: scopeMode, ...(account === undefined ? {} : { account }) };
    return this.run(call, repairRun(choice, part));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post(':projection/diff')
  @ApiRequest(diffRequest)
  @ForOperators(['support'], DOCUMENT, 'PROJECTION_NOT_FOUND')
  diff(
    @OperatorCall() call: OperatorCall,
    @Param('projection') name: string,
    @Body() body: unknown,
  ) {
    const { limit } = parsed(diffRequest, body);
    return this.run(call, diffRun(name, limit));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('swap')
  @ApiRequest(choiceRequest)
  @ForOperators(['support'], DOCUMENT, 'PROJECTION_NOT_FOUND')
  swap(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const { projection, all } = parsed(choiceRequest, body);
    return this.run(call, swapRun({ name: projection, all }));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post(':projection/rollback')
  @ForOperatorsWithoutBody(['support'], DOCUMENT, 'PROJECTION_NOT_FOUND')
  rollBack(@OperatorCall() call: OperatorCall, @Param('projection') name: string) {
    return this.run(call, rollBackRun(name));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('retry-parked')
  @ApiRequest(retryRequest)
  @ForOperators(['support'], DOCUMENT, 'PROJECTION_NOT_FOUND')
  retryParked(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const { projection } = parsed(retryRequest, body);
    return this.run(call, retryParkedRun({ name: projection, all: projection === undefined }));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post(':projection/skip')
  @ApiRequest(skipRequest)
  @ForOperators(['support'], DOCUMENT, 'PROJECTION_NOT_FOUND', 'TENANT_NOT_FOUND')
  skip(
    @OperatorCall() call: OperatorCall,
    @Param('projection') name: string,
    @Body() body: unknown,
  ) {
    return this.run(call, skipRun(name, parsed(skipRequest, body)));
  }

  private async run({ operator, reply }: OperatorCall, asked: ProjectionRun): Promise<unknown> {
    const run = await startProjectionRun(this.runs, this.operations, operator.name, asked);
    return answerWithRun(this.runs, reply, run);
  }

  private read<T>(
    { operator }: OperatorCall,
    work: (projections: ProjectionOperator) => Promise<Outcome<T>>,
  ): Promise<T> {
    const { core, pool, warn } = this.operations;
    const { signal } = new AbortController();
    return answered(onProjections(core, pool, { actor: operator.name, signal, warn }, work));
  }
}
