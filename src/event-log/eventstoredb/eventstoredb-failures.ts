import { EventLogUnavailable } from '../event-log.js';

/** No message arrived in time. The call may still have an effect. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Nothing was sent: the connection is gone, and another must compare the log first. */
export class ConnectionChanged extends Error {
  override readonly name = 'ConnectionChanged';
}

/** What a failed call means to its caller. */
export type Failure =
  /** Unavailable, electing or late: the identical call may be retried. */
  | { readonly kind: 'away'; readonly reason: string; readonly isOutcomeUnknown: boolean }
  /** The store answers but needs an operator's action. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** A fault of this call or of this code; a retry is useless. */
  | { readonly kind: 'fault' };

const CANCELLED = 1;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const ABORTED = 10;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

export const NOT_TRUSTED =
  'the certificate of EventStoreDB is not trusted: name its authority by tlsCAFile in EVENT_STORE_URL';
export const WITHOUT_TLS = 'EventStoreDB answers without TLS: EVENT_STORE_URL lacks ?tls=false';
export const HOST_UNKNOWN = 'the host in EVENT_STORE_URL cannot be found';
const AWAY = 'EventStoreDB is unavailable or does not answer';
const REFUSES_USER =
  'EventStoreDB refuses the user or the password in EVENT_STORE_URL, or the user may not read and write here';

/**
 * Classifies errors of the client and of gRPC by their appearance: several have no or a wrong
 * `type` and `code`. Messages may quote the request, so no reason contains them.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof NoAnswer) return { kind: 'away', reason: AWAY, isOutcomeUnknown: true };
  if (error instanceof ConnectionChanged)
    return { kind: 'away', reason: AWAY, isOutcomeUnknown: false };
  if (!isRecord(error)) return { kind: 'fault' };
  const exception = exceptionOf(error);
  if (exception === 'not-leader')
    return { kind: 'away', reason: 'another node of EventStoreDB leads', isOutcomeUnknown: false };
  if (exception === 'access-denied') return { kind: 'refused', reason: REFUSES_USER };
  if (exception !== undefined) return { kind: 'fault' };
  const text = `${textOf(error.details)} ${textOf(error.message)}`;
  switch (error.code) {
    case UNAUTHENTICATED:
    case PERMISSION_DENIED:
      return { kind: 'refused', reason: REFUSES_USER };
    case UNIMPLEMENTED:
      return {
        kind: 'refused',
        reason:
          'the server at EVENT_STORE_URL is not EventStoreDB 21.10 or newer: change the address',
      };
    case UNAVAILABLE:
      return {
        kind: 'away',
        reason: connectionProblem(text),
        isOutcomeUnknown: !/No connection established|Name resolution/i.test(text),
      };
    case CANCELLED:
    case UNKNOWN:
    case DEADLINE_EXCEEDED:
    case RESOURCE_EXHAUSTED:
    case ABORTED:
    case INTERNAL:
      return { kind: 'away', reason: AWAY, isOutcomeUnknown: true };
    default:
      // The client's own errors have no code: failed discovery, a server that is not ready.
      return /discover|not ready|write after end|Channel has been shut down|stream was destroyed/i.test(
        text,
      )
        ? { kind: 'away', reason: AWAY, isOutcomeUnknown: !/discover/i.test(text) }
        : { kind: 'fault' };
  }
}

/** Converts to errors of the port; errors of this code pass unchanged. */
export function asPortError(error: unknown): unknown {
  if (error instanceof EventLogUnavailable) return error;
  const failure = failureOf(error);
  // An error of the client may contain the request, and with it personal data.
  return failure.kind === 'fault' ? withoutPayload(error) : new EventLogUnavailable(failure.reason);
}

/** An error of the port without a cause. */
export const isOnlyUnavailable = (error: unknown): boolean =>
  error instanceof EventLogUnavailable && error.message === AWAY;

/** An invalid position of the whole log fails so, and other failures look alike. */
export const mayBeInvalidPosition = (error: unknown): boolean =>
  isRecord(error) && error.code === UNKNOWN;

/** The exception that the trailers of the answer name. */
export function exceptionOf(error: unknown): string | undefined {
  return trailerOf(error, 'exception');
}

function trailerOf(error: unknown, name: string): string | undefined {
  const metadata = isRecord(error) ? error.metadata : undefined;
  if (!isRecord(metadata) || typeof metadata.get !== 'function') return undefined;
  const values: unknown = (metadata.get as (name: string) => unknown).call(metadata, name);
  const first: unknown = Array.isArray(values) ? values[0] : undefined;
  return typeof first === 'string' ? first : undefined;
}

function connectionProblem(text: string): string {
  if (/certificate|self.signed|CERT_/i.test(text)) return NOT_TRUSTED;
  if (/wrong version number|packet length|EPROTO|ssl3_/i.test(text)) return WITHOUT_TLS;
  if (/Name resolution/i.test(text)) return HOST_UNKNOWN;
  return AWAY;
}

function withoutPayload(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const exception = exceptionOf(error);
  if (exception === undefined && typeof error.code !== 'number') return error;
  return new Error(`EventStoreDB refused a call: ${exception ?? `code ${String(error.code)}`}`);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
