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
 * Makes spans, which go nowhere unless a tracing library is registered. Asked for each time: an
 * earlier tracer of this copy of the interface does not hear of a library that registers itself
 * with another copy, and the bundle has one of its own.
 */
export const tracer = (): Tracer => trace.getTracer('referral-ledger');

/** The interface's own provider, which stands for the library's; others lack this. */
type Provider = TracerProvider & { getDelegateTracer?(name: string): Tracer | undefined };

/** Whether a tracing library is registered, or one that reads callers' contexts. */
export function isTraced(): boolean {
  const provider: Provider = trace.getTracerProvider();
  if (provider.getDelegateTracer === undefined) return true;
  return (
    provider.getDelegateTracer('referral-ledger') !== undefined || propagation.fields().length > 0
  );
}

/**
 * Does the work in a span, a child of the one around it. The attributes name nobody: types, counts,
 * tenants. @throws what the work throws.
 */
export function inSpan<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  // Nothing is added to the work while nobody traces.
  if (!isTraced()) return work();
  const span = tracer().startSpan(name, { attributes });
  if (!isSpanContextValid(span.spanContext())) return work();
  return context.with(trace.setSpan(context.active(), span), () => ended(span, work));
}

/** A message may quote values, so the error stands in the span by its name. */
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
