import {
  context,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  trace,
  type Span,
} from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isTraced, noteFailure, tracer } from '../../foundation/tracing.js';
import { factsOf } from './request-facts.js';

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
    // By the formats that the tracing library is set to.
    propagation.extract(ROOT_CONTEXT, request.headers),
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
  const facts = { tenant, mode, actor, error_code: code };
  for (const [name, value] of Object.entries(facts))
    if (value !== undefined) span.setAttribute(`ledger.${name}`, value);
  span.setAttribute('http.response.status_code', statusCode);
  if (statusCode >= 500) noteFailure(span, code ?? String(statusCode));
  span.end();
}

/** The caller's span (W3C Trace Context); a later version may append fields. */
const TRACE_PARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/**
 * The trace of the request: the one that is recorded, or that the client names. Its random digits
 * are all of the client's in a log line.
 */
export function traceIdOf({ span, headers: { traceparent } }: FastifyRequest): string | undefined {
  const known = span?.spanContext();
  if (known !== undefined && isSpanContextValid(known)) return known.traceId;
  return TRACE_PARENT.exec(typeof traceparent === 'string' ? traceparent : '')?.[1];
}
