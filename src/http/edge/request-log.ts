import { types } from 'node:util';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { LoggedAddresses } from '../../config/config.js';
import type { Logger as PartLogger } from '../../foundation/logger.js';
import { clientAddress, loggedAddress } from './client-address.js';
import type { BrokenAnswer } from './connections.js';
import { factsOf } from './request-facts.js';
import { traceIdOf } from './request-span.js';

/**
 * An error's kind and origin for the log. Its message may quote the client's text, so it is left
 * out.
 */
export interface LoggedError {
  readonly name: string;
  readonly code?: string;
  readonly frames: readonly string[];
  readonly cause?: LoggedError;
}

/** Includes errors of other realms: Node's own are, inside of a vm context. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || types.isNativeError(value);

export function loggedError(error: unknown): LoggedError {
  if (!isError(error)) return { name: typeof error, frames: [] };
  const code: unknown = Reflect.get(error, 'code');
  return {
    name: error.name,
    ...(typeof code === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(code) ? { code } : {}),
    frames: (error.stack ?? '')
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .map((line) => line.trim())
      .slice(0, 10),
    ...(isError(error.cause) ? { cause: loggedError(error.cause) } : {}),
  };
}

/** The pattern of the route, never the path: paths contain clients' ids, often e-mail addresses. */
export const routeOf = (request: FastifyRequest): string =>
  request.routeOptions.config?.access === undefined
    ? 'unmatched'
    : (request.routeOptions.url ?? 'unmatched');

/** Where lines of requests go, and how they show addresses. */
export interface RequestLog {
  readonly logger: Pick<PartLogger, 'info'>;
  readonly addresses: LoggedAddresses;
}

/**
 * One line per request, without any text of the client but a valid trace id. Members without a
 * value are left out.
 */
export function logRequest(
  { logger, addresses }: RequestLog,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { tenant, mode, actor, actorId, code } = factsOf(request);
  logger.info(
    {
      requestId: request.id,
      traceId: traceIdOf(request),
      method: request.method,
      route: routeOf(request),
      status: reply.statusCode,
      code,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      address: loggedAddress(clientAddress(request), addresses),
      tenant,
      mode,
      actor,
      actorId,
    },
    'request',
  );
}

/** One line per message that could not be read as a request. */
export function logBroken(
  { logger, addresses }: RequestLog,
  { requestId, body, remoteAddress = '' }: BrokenAnswer,
): void {
  logger.info(
    {
      requestId,
      route: 'unread',
      status: body.statusCode,
      code: body.apiErrorCode,
      address: loggedAddress(remoteAddress, addresses),
    },
    'request',
  );
}

type Line = (...args: readonly unknown[]) => void;

/**
 * The framework's logger. Its lines quote request targets, headers and messages; only the error's
 * kind is kept.
 */
export function frameworkLogger(logger: Logger): FastifyBaseLogger {
  const line =
    (level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'): Line =>
    (first) => {
      const error = first instanceof Error ? first : isRecord(first) ? first['err'] : undefined;
      logger[level](
        { source: 'http framework', ...(error === undefined ? {} : { error: loggedError(error) }) },
        'http framework',
      );
    };
  const lines: FastifyBaseLogger = {
    level: logger.level,
    fatal: line('fatal'),
    error: line('error'),
    warn: line('warn'),
    // Below warnings the framework reports nothing beyond our own lines.
    info: () => undefined,
    debug: () => undefined,
    trace: () => undefined,
    silent: () => undefined,
    child: () => lines,
  };
  return lines;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
