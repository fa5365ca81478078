import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
  Res,
} from '@nestjs/common';
import { ApiAcceptedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import * as z from 'zod';
import type { Operator } from '../../config/operators.js';
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
  chosenProjectors,
  onProjections,
  type ProjectionOperator,
} from '../../operations/projections/projection-operator.js';
import { repairProjections, retryParked } from '../../operations/projections/projection-repairs.js';
import { Access, CallingOperator } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { ApiRequest, DOCUMENT, DOCUMENTS, RUN } from './described-documents.js';
import { OperationRuns, type RunContext } from './operation-runs.js';
import { OperationsCore } from './operations-core.js';
import { answered, answerWithRun, mode, parsed, text } from './operator-answers.js';

const limitOf = z.strictObject({
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
});
const choice = z.strictObject({ projection: text.optional(), all: z.boolean().default(false) });
const rebuildRequest = choice.extend({
  dryRun: z.boolean().default(false),
  resume: z.boolean().default(false),
  tenant: text.optional(),
  account: text.optional(),
  mode,
});
const retryRequest = z.strictObject({ projection: text.optional() });

/** For support: how the read models are, and making them anew while the service runs. */
@ApiTags('Operations: projections')
@Controller('operations/projections')
export class ProjectionsController {
  constructor(
    private readonly operations: OperationsCore,
    private readonly runs: OperationRuns,
  ) {}

  @ApiOperation({ summary: 'Where each projection stands' })
  @ApiOkResponse({ schema: DOCUMENTS })
  @Get()
  @Access('operator', { roles: ['support', 'finance'] })
  status(@CallingOperator() operator: Operator) {
    return answered(this.operate(operator, new AbortController().signal, showStatus));
  }

  @ApiOperation({ summary: 'Who did what to the projections, the newest first; `limit` entries' })
  @ApiOkResponse({ schema: DOCUMENTS })
  @Get('history')
  @Access('operator', { roles: ['support'] })
  history(@CallingOperator() operator: Operator, @QueryParameters() query: unknown) {
    const { limit } = parsed(limitOf, query);
    return answered(
      this.operate(operator, new AbortController().signal, (projections) =>
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
  rebuild(
    @CallingOperator() operator: Operator,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
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
    return this.run('projection rebuild', operator, reply, (projections, { onProgress }) => {
      const projectors = chosenProjectors(projections.parts, projection, all);
      if (dryRun) return planRebuild(projections, projectors);
      if (tenant !== undefined) {
        return repairProjections(projections, projectors, {
          tenant,
          mode: scopeMode,
          ...(account === undefined ? {} : { account }),
        });
      }
      return rebuildProjections(projections, projectors, {
        resume,
        onProgress: (progress) =>
          onProgress(progress.phase, 'events' in progress ? progress.events : 0),
      });
    });
  }

  @ApiOperation({
    summary:
      'The rows in which the new generation differs from the live one, at one position; the first `limit` of them',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post(':projection/diff')
  @ApiRequest(limitOf)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  diff(
    @CallingOperator() operator: Operator,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('projection') name: string,
    @Body() body: unknown,
  ) {
    const { limit } = parsed(limitOf, body);
    return this.run('projection diff', operator, reply, async (projections) => {
      const [projector] = chosenProjectors(projections.parts, name);
      return projector && diffProjection(projections, projector, limit);
    });
  }

  @ApiOperation({
    summary:
      'Makes the new generation live: of one `projection`, or of `all` that have one, at once',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('swap')
  @ApiRequest(choice)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  swap(
    @CallingOperator() operator: Operator,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { projection, all } = parsed(choice, body);
    return this.run('projection swap', operator, reply, async (projections) =>
      swapProjections(projections, chosenProjectors(projections.parts, projection, all), all),
    );
  }

  @ApiOperation({ summary: 'Makes the generation live that was so before' })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post(':projection/rollback')
  @HttpCode(200)
  @Access('operator', { roles: ['support'], emptyBody: true })
  rollBack(
    @CallingOperator() operator: Operator,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('projection') name: string,
  ) {
    return this.run('projection rollback', operator, reply, async (projections) => {
      const [projector] = chosenProjectors(projections.parts, name);
      return projector && rollBackProjection(projections, projector);
    });
  }

  @ApiOperation({
    summary: 'Tries again the accounts that could not be applied: of one `projection`, or of all',
  })
  @ApiOkResponse({ schema: DOCUMENT })
  @ApiAcceptedResponse({ schema: RUN })
  @Post('retry-parked')
  @ApiRequest(retryRequest)
  @HttpCode(200)
  @Access('operator', { roles: ['support'] })
  retryParked(
    @CallingOperator() operator: Operator,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: unknown,
  ) {
    const { projection } = parsed(retryRequest, body);
    return this.run('projection retry-parked', operator, reply, async (projections) =>
      retryParked(
        projections,
        chosenProjectors(projections.parts, projection, projection === undefined),
      ),
    );
  }

  private run(
    operation: string,
    operator: Operator,
    reply: FastifyReply,
    work: (projections: ProjectionOperator, context: RunContext) => Promise<unknown>,
  ): Promise<unknown> {
    return answerWithRun({ runs: this.runs, reply, operator }, operation, (context) =>
      this.operate(operator, context.signal, (projections) => work(projections, context)),
    );
  }

  private operate<T>(
    { name }: Operator,
    signal: AbortSignal,
    work: (projections: ProjectionOperator) => Promise<T>,
  ): Promise<T> {
    const { core, pool, warn } = this.operations;
    return onProjections(core, pool, { actor: name, signal, warn }, work);
  }
}
