import { isSpanContextValid } from '@opentelemetry/api';
import type { Logger } from '../foundation/logger.js';
import { hasCode } from '../foundation/error-code.js';
import { waitAtMost } from '../foundation/timeout.js';
import { tracer } from '../foundation/tracing.js';

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
  // Hidden from bundlers, because the library is optional.
  import(name) as Promise<TracingLibrary>;

/** Whether OpenTelemetry's variables name a collector or an exporter. */
export function requestsTraces(environment: Environment): boolean {
  const of = (name: string): string => environment[name]?.trim().toLowerCase() ?? '';
  if (of('OTEL_SDK_DISABLED') === 'true' || of('OTEL_TRACES_EXPORTER') === 'none') return false;
  return [
    'OTEL_TRACES_EXPORTER',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  ].some((name) => of(name) !== '');
}

/**
 * Starts OpenTelemetry if its variables require it. An instance that `node --import` loaded is
 * used. A missing library is logged and does not prevent the start.
 */
export async function startTracing(
  { logger, environment }: { readonly logger: Logger; readonly environment: Environment },
  load = importLibrary,
): Promise<{ readonly part: boolean; readonly undo: () => unknown }> {
  const off = { part: false, undo: () => undefined };
  if (!requestsTraces(environment) || isRegistered()) return off;
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
  // Another version of the library does not work with this one.
  else logger.warn({ library: LIBRARY }, 'no traces: the library does not fit this release');
  // Remaining spans are not worth a delay of the stop by an unavailable collector.
  return {
    part,
    undo: () =>
      waitAtMost(
        FLUSH_MS,
        sdk.shutdown().catch(() => undefined),
      ),
  };
}

/** Whether a tracing library is active. The span is not ended, so it is not exported. */
const isRegistered = (): boolean =>
  isSpanContextValid(tracer().startSpan('probe', { root: true }).spanContext());
