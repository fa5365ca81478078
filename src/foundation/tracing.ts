import {
  isSpanContextValid,
  propagation,
  SpanStatusCode,
  trace,
  context,
  type Attributes,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import { errorNameAndCode } from './describe-error.js';

/**
 * Makes spans, which are dropped unless a tracing library is registered. Requested per span: a
 * tracer that was kept would miss a library that registers with another copy of the interface, and
 * the bundle has its own copy.
 */
export const tracer = (): Tracer => trace.getTracer('referral-ledger');

/** The interface's provider, a proxy for the library's; other providers lack this method. */
type Provider = TracerProvider & { getDelegateTracer?(name: string): Tracer | undefined };

/** Whether a tracing library or a context propagator is registered. */
export function isTraced(): boolean {
  const provider: Provider = trace.getTracerProvider();
  if (provider.getDelegateTracer === undefined) return true;
  return (
    provider.getDelegateTracer('referral-ledger') !== undefined || propagation.fields().length > 0
  );
}

/** Runs the work in a child span. Attributes are never personal data. */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!isTraced()) return work();
  const span = tracer().startSpan(name, { attributes });
  if (!isSpanContextValid(span.spanContext())) return work();
  return context.with(trace.setSpan(context.active(), span), () => ended(span, work));
}

/** Records the name only: a message may quote values. */
export function noteFailure(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    noteFailure(span, errorNameAndCode(error));
    throw error;
  } finally {
    span.end();
  }
}
