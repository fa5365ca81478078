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

/** Begins a request's span when its head has arrived. @param route the pattern, never the path. */
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
    // Uses the tracing library's formats.
    propagation.extract(ROOT_CONTEXT, request.headers),
  );
}

/** Runs the work with the request's span as its parent. */
export function withinSpan(request: FastifyRequest, work: () => void): void {
  const { span } = request;
  if (!span || !isSpanContextValid(span.spanContext())) return work();
  context.with(trace.setSpan(ROOT_CONTEXT, span), work);
}

/** Ends the span after the answer, or when the client has left. */
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

/** The caller's span (W3C Trace Context); later versions may append fields. */
const TRACE_PARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/;

/** The recorded trace, or the client's. Only its random digits appear in the log. */
export function traceIdOf({ span, headers: { traceparent } }: FastifyRequest): string | undefined {
  const known = span?.spanContext();
  if (known !== undefined && isSpanContextValid(known)) return known.traceId;
  return TRACE_PARENT.exec(typeof traceparent === 'string' ? traceparent : '')?.[1];
}
