import { AsyncLocalStorage } from 'node:async_hooks';
import {
  context,
  INVALID_SPANID,
  propagation,
  ROOT_CONTEXT,
  trace,
  TraceFlags,
  type Attributes,
  type Context,
  type ContextManager,
  type Span,
  type SpanOptions,
  type SpanStatus,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';

export interface RecordedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `0000000000000000`: it has none. */
  readonly parentId: string;
  readonly attributes: Readonly<Attributes>;
  readonly status: SpanStatus | undefined;
}

/** Keeps the active context through asynchronous work, as the library of OpenTelemetry does. */
class Contexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    thisArg?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.storage.run(active, () => work.apply(thisArg, args));
  }

  bind<T>(_: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.storage.disable();
    return this;
  }
}

let numbered = 0;
const digits = (length: number): string => (numbered += 1).toString(16).padStart(length, '0');

/** Records every span until `end`, as a library of OpenTelemetry would. */
export class RecordedSpans implements TracerProvider {
  readonly ended: RecordedSpan[] = [];

  constructor() {
    if (!context.setGlobalContextManager(new Contexts()) || !trace.setGlobalTracerProvider(this))
      throw new Error('another library records the spans');
    propagation.setGlobalPropagator({
      inject: () => undefined,
      fields: () => ['traceparent'],
      extract: (parent, carrier: { readonly traceparent?: string }) => {
        const [, traceId = '', spanId = ''] = carrier.traceparent?.split('-') ?? [];
        const given = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
        return traceId === '' ? parent : trace.setSpanContext(parent, given);
      },
    });
  }

  end(): void {
    trace.disable();
    context.disable();
    propagation.disable();
  }

  /** Those with a name that begins so. */
  named(beginning: string): readonly RecordedSpan[] {
    return this.ended.filter(({ name }) => name.startsWith(beginning));
  }

  getTracer(): Tracer {
    const startSpan: Tracer['startSpan'] = (name, options, parent) =>
      this.start(name, options, parent ?? context.active());
    return {
      startSpan,
      startActiveSpan: () => {
        throw new Error('not used by the service');
      },
    };
  }

  private start(name: string, { attributes = {}, root }: SpanOptions = {}, around: Context): Span {
    const parent = root === true ? undefined : trace.getSpanContext(around);
    const own = {
      traceId: parent?.traceId ?? digits(32),
      spanId: digits(16),
      traceFlags: TraceFlags.SAMPLED,
    };
    const all: Attributes = { ...attributes };
    let status: SpanStatus | undefined;
    let isRecording = true;
    const span: Span = {
      spanContext: () => own,
      setAttribute: (key, value) => {
        all[key] = value;
        return span;
      },
      setAttributes: (more) => {
        Object.assign(all, more);
        return span;
      },
      setStatus: (now) => {
        status = now;
        return span;
      },
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      updateName: () => span,
      recordException: () => undefined,
      isRecording: () => isRecording,
      end: () => {
        isRecording = false;
        const parentId = parent?.spanId ?? INVALID_SPANID;
        this.ended.push({ name, ...own, parentId, attributes: all, status });
      },
    };
    return span;
  }
}
