import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { Access } from '../edge/access.js';

/** The injection token of the process's metrics registry. */
export const METRICS_REGISTRY = Symbol('metrics registry');

/** A registry with the default metrics of the process (memory, event loop, garbage collection). */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

export interface AnsweredRequest {
  readonly method: string;
  /** The route's pattern, or `unmatched`: paths would make a time series per id, and expose it. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

/** The metrics of requests. */
export class HttpMetrics {
  private readonly durations: Histogram<'method' | 'route' | 'status'>;
  private inFlight: () => number = () => 0;

  constructor(registry: Registry) {
    this.durations = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers: [registry],
    });
    const inFlight = () => this.inFlight();
    new Gauge({
      name: 'http_requests_in_flight',
      help: 'Requests that are not answered yet',
      registers: [registry],
      collect() {
        this.set(inFlight());
      },
    });
  }

  /** Reads the number of requests in flight at each scrape. */
  watchInFlight(source: () => number): void {
    this.inFlight = source;
  }

  answered({ method, route, status, seconds }: AnsweredRequest): void {
    this.durations.observe({ method, route, status: String(status) }, seconds);
  }
}

@ApiTags('Operation')
@Controller('metrics')
export class MetricsController {
  constructor(@Inject(METRICS_REGISTRY) private readonly registry: Registry) {}

  /** All metrics in the text format of Prometheus. */
  @Get()
  @Access('none')
  @ApiOperation({ summary: 'Metrics for Prometheus' })
  @ApiOkResponse({
    description: 'Text format',
    content: { 'text/plain': { schema: { type: 'string' } } },
  })
  async metrics(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    void reply.header('Content-Type', this.registry.contentType);
    return this.registry.metrics();
  }
}
