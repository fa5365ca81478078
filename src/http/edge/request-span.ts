import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  type Context,
  type Span,
} from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isTraced, noteFailure, tracer } from '../../foundation/tracing.js';
import { factsOf } from './request-facts.js';
import { parseTraceParent } from './trace-parent.js';

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | null;
  }
}

/**
 * Begins the span of a request, a child of the caller's. Call it when the head has arrived.
 * @param route the pattern, never the path.
 */
export function beginSpan(request: FastifyRequest, route: string): void {
  if (!isTraced()) return;
  const { method } = request;
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'ledger.request_id': request.id,
  };
  request.span = tracer().startSpan(
    `${method} ${route}`,
    { kind: SpanKind.SERVER, attributes },
    callersContext(request),
  );
}

/** The work for a request, with its span as the parent of others. */
export function withinSpan(request: FastifyRequest, work: () => void): void {
  const { span } = request;
  if (!span || !isSpanContextValid(span.spanContext())) return work();
  context.with(trace.setSpan(ROOT_CONTEXT, span), work);
}

/** Ends the span when the answer has gone out, or its client has left. */
export function endSpan(request: FastifyRequest, { statusCode }: FastifyReply): void {
  const { span } = request;
  if (!span || !span.isRecording()) return;
  const { tenant, mode, actor, code } = factsOf(request);
  span.setAttributes({
    'http.response.status_code': statusCode,
    ...(tenant === undefined ? {} : { 'ledger.tenant': tenant }),
    ...(mode === undefined ? {} : { 'ledger.mode': mode }),
    ...(actor === undefined ? {} : { 'ledger.actor': actor }),
    ...(code === undefined ? {} : { 'ledger.error_code': code }),
  });
  if (statusCode >= 500) noteFailure(span, code ?? String(statusCode));
  span.end();
}

/**
 * The trace of the request: the one that is recorded, or that the client names. Its random digits
 * are all of the client's in a log line.
 */
export function traceIdOf(request: FastifyRequest): string | undefined {
  const known = request.span?.spanContext();
  return known !== undefined && isSpanContextValid(known)
    ? known.traceId
    : parseTraceParent(request.headers.traceparent)?.traceId;
}

/** By the formats that the tracing library is set to, and by `traceparent` without one. */
function callersContext({ headers }: FastifyRequest): Context {
  const extracted = propagation.extract(ROOT_CONTEXT, headers);
  if (trace.getSpanContext(extracted) !== undefined) return extracted;
  const parent = parseTraceParent(headers.traceparent);
  if (parent === undefined) return extracted;
  const { traceId, spanId, flags: traceFlags } = parent;
  return trace.setSpanContext(extracted, { traceId, spanId, traceFlags, isRemote: true });
}
