import { Controller, Get, Inject, Res } from '@nestjs/common';
import {
  ApiOkResponse,
  ApiOperation,
  ApiServiceUnavailableResponse,
  ApiTags,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../edge/access.js';
import { errorJson } from '../edge/api-error.js';

/** The state of one thing the service needs, or of one projection. */
export interface HealthCheck {
  readonly ok: boolean;
  /**
   * What an operator wants to know: lag, position, generation … Never an address, a secret or a
   * client's id.
   */
  readonly [detail: string]: boolean | number | string | null;
}

export interface Readiness {
  /** Requests can be served. A single parked stream does not make the whole service unready. */
  readonly ready: boolean;
  /** They can, and something behind them stands still, which its part says. */
  readonly degraded?: boolean;
  /** By name: `postgres`, `event-log`, `projection rewards` … */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

/** Answers quickly (it has own, short time limits) and does not reject. */
export interface ReadinessProbe {
  check(): Promise<Readiness>;
}

export const READINESS_PROBE = Symbol('readiness probe');

const readiness = (
  description: string,
  ...status: readonly ('ready' | 'degraded' | 'not ready')[]
): ApiResponseOptions => ({
  description,
  schema: {
    type: 'object',
    required: ['status', 'ready', 'checks'],
    properties: {
      status: { type: 'string', enum: [...status] },
      ready: { type: 'boolean' },
      checks: {
        type: 'object',
        description: 'By part: `postgres`, `event-log`, `policies`, `projection rewards` …',
        additionalProperties: {
          type: 'object',
          required: ['ok'],
          properties: { ok: { type: 'boolean' } },
        },
      },
    },
  },
});

@ApiTags('Operation')
@Controller('health')
export class HealthController {
  constructor(@Inject(READINESS_PROBE) private readonly probe: ReadinessProbe) {}

  /** 200 as long as the process answers at all. */
  @ApiOperation({ summary: 'Whether the process answers at all' })
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

  /** 200 while requests can be served, else 503; either way with the state of every part. */
  @ApiOperation({ summary: 'Whether requests can be served, and the state of every part' })
  @ApiOkResponse(
    readiness(
      'Requests can be served; `degraded`: and reactions to single accounts stand still',
      'ready',
      'degraded',
    ),
  )
  @ApiServiceUnavailableResponse(
    readiness('Not yet, or not now; with the members of an error', 'not ready'),
  )
  @Get('ready')
  @Access('none')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const { ready, degraded = false, checks } = await this.probe.check();
    void reply.header('Cache-Control', 'no-store');
    if (ready) return { status: degraded ? 'degraded' : 'ready', ready, checks };
    void reply.code(503).header('Retry-After', '1');
    return {
      ...errorJson('UNAVAILABLE', { message: 'The service is not ready' }),
      status: 'not ready',
      ready,
      checks,
    };
  }
}
