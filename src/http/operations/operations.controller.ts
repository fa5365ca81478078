import { Controller, Get, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse } from '@nestjs/swagger';
import { OPERATOR_ROLES, type Operator } from '../../config/operators.js';
import { Access } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { OperatorCall } from '../credentials/call.js';
import { DOCUMENT, ForOperators, DOCUMENTS } from './described-documents.js';
import { OperationRuns, type ShownRun } from './operation-runs.js';
import { answerRun } from './operator-answers.js';

@Controller('operations')
export class OperationsController {
  constructor(private readonly runs: OperationRuns) {}
  @ApiOkResponse({ schema: DOCUMENT })
  @Get()
  @Access('operator', { roles: OPERATOR_ROLES })
  self(@OperatorCall() { operator: { name, roles } }: OperatorCall) {
    return { name, roles };
  }

  @Get('runs')
  @ForOperators(OPERATOR_ROLES, DOCUMENTS)
  list(@OperatorCall() { operator }: OperatorCall) {
    return this.runs.list(operator.name);
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Get('runs/:runId')
  @ForOperators(OPERATOR_ROLES, DOCUMENT, 'RUN_NOT_FOUND')
  async show(@OperatorCall() { operator, reply }: OperatorCall, @Param('runId') id: string) {
    return answerRun(reply, await this.own(id, operator));
  }

  @Post('runs/:runId/cancel')
  @ForOperators(OPERATOR_ROLES, DOCUMENT, 'RUN_NOT_FOUND')
  async cancel(@OperatorCall() { operator }: OperatorCall, @Param('runId') id: string) {
    const run = await this.own(id, operator);
    await this.runs.cancel(id);
    return run;
  }

  /** Results are shown only to the run's operator, because others may have other roles. */
  private async own(id: string, { name }: Operator): Promise<ShownRun> {
    const run = await this.runs.find(id);
    if (run?.by !== name) throw new ApiError('RUN_NOT_FOUND');
    return run;
  }
}
