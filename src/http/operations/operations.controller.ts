import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { OPERATOR_ROLES, type Operator } from '../../config/operators.js';
import { Access } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { OperatorCall } from '../edge/call.js';
import { Fails } from '../shapes/openapi.js';
import { DOCUMENT, RUN, RUNS } from './described-documents.js';
import { OperationRuns, type Run } from './operation-runs.js';
import { answerRun } from './operator-answers.js';

/** The caller and the caller's runs. */
@ApiTags('Operations')
@Controller('operations')
export class OperationsController {
  constructor(private readonly runs: OperationRuns) {}

  @ApiOperation({ summary: 'The operator of this key, and their roles' })
  @ApiOkResponse({ schema: { ...DOCUMENT, required: ['name', 'roles'] } })
  @Get()
  @Access('operator', { roles: OPERATOR_ROLES })
  self(@OperatorCall() { operator: { name, roles } }: OperatorCall) {
    return { name, roles };
  }

  @ApiOperation({
    summary: 'Your operations in this process that are running or ended lately, newest first',
  })
  @ApiOkResponse({ schema: RUNS })
  @Get('runs')
  @Access('operator', { roles: OPERATOR_ROLES })
  list(@OperatorCall() { operator }: OperatorCall) {
    return this.runs.list().filter(({ by }) => by === operator.name);
  }

  @ApiOperation({ summary: 'The progress or the result of an operation; 202 while it runs' })
  @ApiOkResponse({ schema: RUN })
  @ApiAcceptedResponse({ schema: RUN })
  @Get('runs/:runId')
  @Access('operator', { roles: OPERATOR_ROLES })
  @Fails('NOT_FOUND')
  show(@OperatorCall() { operator, reply }: OperatorCall, @Param('runId') id: string) {
    return answerRun(reply, this.own(id, operator).shown());
  }

  @ApiOperation({ summary: 'Stops an operation; the finished part of its work remains' })
  @ApiOkResponse({ schema: RUN })
  @Post('runs/:runId/cancel')
  @HttpCode(200)
  @Access('operator', { roles: OPERATOR_ROLES, emptyBody: true })
  @Fails('NOT_FOUND')
  cancel(@OperatorCall() { operator }: OperatorCall, @Param('runId') id: string) {
    const run = this.own(id, operator);
    run.cancel();
    return run.shown();
  }

  /** Results are shown to the operator who started the run only: others may have other roles. */
  private own(id: string, { name }: Operator): Run {
    const run = this.runs.find(id);
    if (run === undefined || run.by !== name)
      throw new ApiError('NOT_FOUND', { message: 'There is no such run of yours in this process' });
    return run;
  }
}
