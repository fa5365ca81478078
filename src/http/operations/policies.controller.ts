import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiAcceptedResponse } from '@nestjs/swagger';
import { showParked, skipParkedReaction } from '../../operations/policies/policy-commands.js';
import { OperatorCall } from '../credentials/call.js';
import {
  ApiQueries,
  ApiRequest,
  DOCUMENT,
  DOCUMENTS,
  ForOperators,
} from './described-documents.js';
import { OperationRuns } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answered, answerWithRun } from './operator-answers.js';
import { limitRequest, parsed, parsedQuery } from './operator-request.js';
import { startPolicyRetry } from './policy-runs.js';
import { retryRequest, skipRequest } from './policies.request.js';

@Controller('operations/policies')
export class PoliciesController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @Get('parked')
  @ApiQueries(limitRequest)
  @ForOperators(['support'], DOCUMENTS)
  parked(@QueryParameters() query: unknown) {
    const { limit } = parsedQuery(limitRequest, query);
    return answered(showParked(this.operations.core, limit));
  }

  @ApiAcceptedResponse({ schema: DOCUMENT })
  @Post('retry')
  @ApiRequest(retryRequest)
  @ForOperators(['support'], DOCUMENT, 'REACTION_NOT_FOUND')
  async retry(@OperatorCall() call: OperatorCall, @Body() body: unknown) {
    const { id } = parsed(retryRequest, body);
    const { core } = this.operations;
    const run = await startPolicyRetry(this.runs, core, call.operator.name, id);
    return answerWithRun(this.runs, call.reply, run);
  }

  @Post(':id/skip')
  @HttpCode(200)
  @ApiRequest(skipRequest)
  @ForOperators(['support'], DOCUMENT, 'REACTION_NOT_FOUND')
  skip(@OperatorCall() call: OperatorCall, @Param('id') id: string, @Body() body: unknown) {
    const { core, warn } = this.operations;
    const { reason } = parsed(skipRequest, body);
    const { signal } = new AbortController();
    return answered(skipParkedReaction(core, id, { by: call.operator.name, reason, signal, warn }));
  }
}
