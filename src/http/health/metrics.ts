import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Access } from '../edge/access.js';
import { API_ERROR_CODES, type ApiErrorCode } from '../edge/api-error.js';
import { sharedCall } from '../../foundation/single-flight.js';

/** The injection token of the metrics registry. */
export const METRICS_REGISTRY = Symbol('metrics registry');

/** A registry with default metrics (memory, event loop, garbage collection). */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

const ENDED_FOR = ['unread', 'turned-away'] as const;

type EndedFor = (typeof ENDED_FOR)[number];

/** The connections of the server, as metrics show them. */
export interface WatchedConnections {
  readonly inFlight: number;
  readonly connections: number;
  onEnd: (why: EndedFor) => void;
}

/** The metrics of requests and connections. */
export class HttpMetrics {
  private readonly durations: Histogram<'method' | 'route' | 'status'>;
  private readonly refusals: Counter<'code'>;

  constructor(private readonly registry: Registry) {
    this.durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers: [registry],
    });
    this.refusals = new Counter({
      name: 'http_refusals_total',
      help: 'Answers that are errors, by apiErrorCode',
      labelNames: ['code'],
      registers: [registry],
    });
    // Start at zero, so that the first error is an increase.
    for (const code of API_ERROR_CODES) this.refusals.inc({ code }, 0);
  }

  /** Reads the numbers at each scrape and counts connections that the server ends. */
  watchConnections(watched: WatchedConnections): void {
    const registers = [this.registry];
    new Gauge({
      name: 'http_requests_in_flight',
      help: 'Requests whose answers are not completely sent',
      registers,
      collect() {
        this.set(watched.inFlight);
      },
    });
    new Gauge({
      name: 'http_connections',
      help: 'Connections of clients',
      registers,
      collect() {
        this.set(watched.connections);
      },
    });
    const ended = new Counter({
      name: 'http_connections_ended_total',
      help: `Connections that the server ended, by reason: ${ENDED_FOR.join(', ')}`,
      labelNames: ['why'],
      registers,
    });
    for (const why of ENDED_FOR) ended.inc({ why }, 0);
    watched.onEnd = (why) => ended.inc({ why });
  }

  refused(code: ApiErrorCode): void {
    this.refusals.inc({ code });
  }

  /** @param route the pattern: paths would create and expose a time series per id. */
  answered(method: string, route: string, status: number, seconds: number): void {
    this.durations.observe({ method, route, status: String(status) }, seconds);
  }
}

@Controller('metrics')
export class MetricsController {
  /** Shared, because some metrics query the stores. */
  private readonly collect = sharedCall(() => this.registry.metrics());

  constructor(@Inject(METRICS_REGISTRY) private readonly registry: Registry) {}

  /** The metrics in Prometheus's text format. */
  @Get()
  @Access('none', { listener: 'operations' })
  @ApiOkResponse({
    description: 'Text format',
    content: { 'text/plain': { schema: { type: 'string' } } },
  })
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('Content-Type', this.registry.contentType);
    return this.collect();
  }
}
