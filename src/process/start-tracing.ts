import { isSpanContextValid } from '@opentelemetry/api';
import type { Logger } from '../foundation/logger.js';
import { hasCode } from '../foundation/error-code.js';
import { atMost } from '../foundation/in-time.js';
import { tracer } from '../foundation/tracing.js';

/** What this service uses of `@opentelemetry/sdk-node`. */
interface TracingLibrary {
  readonly NodeSDK: new (options: {
    readonly serviceName: string;
    readonly instrumentations: readonly never[];
  }) => { start(): void; shutdown(): Promise<void> };
}

type Environment = Readonly<Record<string, string | undefined>>;

const LIBRARY = '@opentelemetry/sdk-node';
const FLUSH_MS = 5_000;

const importLibrary = (name: string): Promise<TracingLibrary> =>
  // A name that no bundler follows: the library is optional.
  import(name) as Promise<TracingLibrary>;

/**
 * Whether OpenTelemetry's own variables ask for traces: an address of a collector, or a named
 * exporter.
 */
export function asksForTraces(environment: Environment): boolean {
  const of = (name: string): string => environment[name]?.trim().toLowerCase() ?? '';
  if (of('OTEL_SDK_DISABLED') === 'true' || of('OTEL_TRACES_EXPORTER') === 'none') return false;
  return [
    'OTEL_TRACES_EXPORTER',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  ].some((name) => of(name) !== '');
}

/**
 * Starts OpenTelemetry where its variables ask for it. One that was loaded before the service
 * (`node --import`) is used as it is. Without its library the service starts all the same.
 */
export async function startTracing(
  { logger, environment }: { readonly logger: Logger; readonly environment: Environment },
  load = importLibrary,
): Promise<{ readonly part: boolean; readonly undo: () => unknown }> {
  const off = { part: false, undo: () => undefined };
  if (!asksForTraces(environment) || isRegistered()) return off;
  let library: TracingLibrary;
  try {
    library = await load(LIBRARY);
  } catch (error) {
    if (!hasCode(error, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) throw error;
    logger.warn({ library: LIBRARY }, 'no traces: the library that they need is not installed');
    return off;
  }
  const serviceName = environment['OTEL_SERVICE_NAME']?.trim() || 'referral-ledger';
  const sdk = new library.NodeSDK({ serviceName, instrumentations: [] });
  sdk.start();
  const part = isRegistered();
  if (part) logger.info({ serviceName }, 'traces are recorded');
  // Its interface is of another version, and refuses to work with ours.
  else logger.warn({ library: LIBRARY }, 'no traces: the library does not fit this release');
  // The collector may be away; the spans that are left are not worth a delay of the end.
  return {
    part,
    undo: () =>
      atMost(
        FLUSH_MS,
        sdk.shutdown().catch(() => undefined),
      ),
  };
}

/** Whether a tracing library is at work. The span is never ended, so it goes nowhere. */
const isRegistered = (): boolean =>
  isSpanContextValid(tracer().startSpan('probe', { root: true }).spanContext());
