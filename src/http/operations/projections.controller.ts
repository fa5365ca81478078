import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  diffProjection,
  planRebuild,
  rebuildProjections,
  rollBackProjection,
  showHistory,
  showStatus,
  swapProjections,
} from '../../operations/projections/projection-commands.js';
import {
  onChosen,
  onNamed,
  onProjections,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import type { Outcome } from '../../operations/outcome.js';
import { repairProjections, retryParked } from '../../operations/projections/projection-repairs.js';
import { Access } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { OperatorCall } from '../edge/call.js';
import { ApiRequest, DOCUMENT, DOCUMENTS, RUN } from './described-documents.js';
import { OperationRuns, type RunContext } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answered, answerWithRun } from './operator-answers.js';
import { limitRequest, parsed } from './operator-request.js';
import { choiceRequest, rebuildRequest, retryRequest } from './projections.request.js';

/** For support: status and rebuilds of the read models while the service runs. */
@ApiTags('Operations: projections')
@Controller('operations/projections')
export class ProjectionsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @ApiOperation({ summary: 'Position, lag and generation of each projection' })
  @ApiOkResponse({ schema: DOCUMENTS })
  @Get()
  @Access('operator', { roles: ['support', 'finance'] })
  status(@OperatorCall() call: OperatorCall) {
    return answered(this.operate(call, new AbortController().signal, showStatus));
  }

  @ApiOperation({ summary: 'The operations on projections, newest first; `limit` entries' })
  @ApiOkResponse({ schema: DOCUMENTS })
  @Get('history')
  @Access('operator', { roles: ['support'] })
  history(@OperatorCall() call: OperatorCall, @QueryParameters() query: unknown) {
    const { limit } = parsed(limitRequest, query);
    return answered(
      this.operate(call, new AbortController().signal, (projections) =>
        showHistory(projections, limit),
      ),
    );
  }

  @ApiOperation({
    summary:
      'Builds new generations beside the live ones (`projection` or `all`; `dryRun`, `resume`), or with `tenant` repairs a part in place',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('rebuild')
  @ApiRequest(rebuildRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
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
    return this.run('projection rebuild', call, (projections, { onProgress }) =>
      onChosen<object>(projections, { name: projection, all }, (projectors) => {
        if (dryRun) return planRebuild(projections, projectors);
        if (tenant !== undefined) {
          const target = { tenant, mode: scopeMode, ...(account === undefined ? {} : { account }) };
          return repairProjections(projections, projectors, target);
        }
        return rebuildProjections(projections, projectors, {
          resume,
          onProgress: (progress) =>
            onProgress(progress.phase, 'events' in progress ? progress.events : 0),
        });
      }),
    );
  }

  @ApiOperation({
    summary:
      'The rows in which the new generation differs from the live one, at one position; the first `limit` of them',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post(':projection/diff')
  @ApiRequest(limitRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  diff(
    @OperatorCall() call: OperatorCall,
    @Param('projection') name: string,
    @Body() body: unknown,
  ) {
    const { limit } = parsed(limitRequest, body);
    return this.run('projection diff', call, (projections) =>
      onNamed(projections, name, (projector) => diffProjection(projections, projector, limit)),
    );
  }

  @ApiOperation({
    summary:
      'Makes the new generation live: of one `projection`, or of `all` that have one, at once',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('swap')
  @ApiRequest(choiceRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  swap(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const { projection, all } = parsed(choiceRequest, body);
    return this.run('projection swap', call, (projections) =>
      onChosen(projections, { name: projection, all }, (chosen) =>
        swapProjections(projections, chosen, all),
      ),
    );
  }

  @ApiOperation({ summary: 'Makes the previous generation live again' })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post(':projection/rollback')
  @HttpCode(200)
  @Access('operator', { roles: ['support'], emptyBody: true })
  rollBack(@OperatorCall() call: OperatorCall, @Param('projection') name: string) {
    return this.run('projection rollback', call, (projections) =>
      onNamed(projections, name, (projector) => rollBackProjection(projections, projector)),
    );
  }

  @ApiOperation({
    summary: 'Retries parked accounts: of one `projection`, or of all',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('retry-parked')
  @ApiRequest(retryRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  retryParked(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const { projection } = parsed(retryRequest, body);
    return this.run('projection retry-parked', call, (projections) =>
      onChosen(projections, { name: projection, all: projection === undefined }, (chosen) =>
        retryParked(projections, chosen),
      ),
    );
  }

  private run(
    operation: string,
    call: OperatorCall,
    work: (projections: ProjectionOperator, context: RunContext) => Promise<Outcome<unknown>>,
  ): Promise<unknown> {
    return answerWithRun(this.runs, call, operation, (context) =>
      this.operate(call, context.signal, (projections) => work(projections, context)),
    );
  }

  private operate<T>(
    { operator }: OperatorCall,
    signal: AbortSignal,
    work: (projections: ProjectionOperator) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const { core, pool, warn } = this.operations;
    return onProjections(core, pool, { actor: operator.name, signal, warn }, work);
  }
}
