import { Controller, Get, Inject, Res } from '@nestjs/common';
import {
  ApiOkResponse,
  ApiServiceUnavailableResponse,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { addFacts } from '../edge/request-facts.js';
import { sharedCall } from '../../foundation/single-flight.js';
import { READINESS_PROBE, type Readiness, type ReadinessProbe } from './readiness.js';

/** The members of an error in addition to those of readiness. */
const ERROR_MEMBERS = {
  statusCode: { type: 'integer' },
  message: { type: 'string' },
  apiErrorCode: { type: 'string', enum: ['UNAVAILABLE'] },
  rsCode: { type: 'null' },
};

const readiness = (
  description: string,
  status: readonly ('ready' | 'degraded' | 'not ready')[],
  others = {},
): ApiResponseOptions => ({
  description,
  schema: {
    type: 'object',
    required: ['status', 'ready', 'checks', ...Object.keys(others)],
    properties: {
      ...others,
      status: { type: 'string', enum: [...status] },
      ready: { type: 'boolean' },
      checks: {
        type: 'object',
        description: 'By part: `postgres`, `event-log`, `policies`, `projection rewards` …',
        additionalProperties: {
          type: 'object',
          required: ['ok'],
          properties: { ok: { type: 'boolean' } },
          additionalProperties: true,
        },
      },
    },
  },
});

@Controller('health')
export class HealthController {
  /** Shared by concurrent requests, because it costs about forty statements. */
  private readonly check: () => Promise<Readiness>;

  constructor(@Inject(READINESS_PROBE) probe: ReadinessProbe) {
    this.check = sharedCall(() => probe.check());
  }

  @ApiOkResponse({
    schema: {
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'string', enum: ['live'] } },
    },
  })
  @Get('live')
  @Access('none')
  live() {
    return { status: 'live' };
  }

  @ApiOkResponse(
    readiness(
      'Requests can be served; `degraded`: read models, reactions or seals made no progress for 10 s or more',
      ['ready', 'degraded'],
    ),
  )
  @ApiServiceUnavailableResponse(
    readiness('Not at the moment; with the members of an error', ['not ready'], ERROR_MEMBERS),
  )
  @Get('ready')
  @Access('none', { listener: 'operations' })
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const { ready, degraded = false, checks } = await this.check();
    if (ready) return { status: degraded ? 'degraded' : 'ready', ready, checks };
    void reply.code(503).header('Retry-After', '1');
    addFacts(reply.request, { code: 'UNAVAILABLE' });
    return {
      ...new ApiError('UNAVAILABLE', { message: 'The service is not ready' }).body,
      status: 'not ready',
      ready,
      checks,
    };
  }
}
