import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { LoggedAddresses } from '../../config/config.js';
import { isError, loggedError } from '../../foundation/describe-error.js';
import { clientAddress, loggedAddress } from './client-address.js';
import type { BrokenAnswer } from './connections.js';
import { factsOf } from './request-facts.js';
import { traceIdOf } from './request-span.js';

/** The pattern of the route, never the path: paths contain clients' ids, often e-mail addresses. */
export const routeOf = (request: FastifyRequest): string =>
  request.routeOptions.config?.access === undefined
    ? 'unmatched'
    : (request.routeOptions.url ?? 'unmatched');

/** Where lines of requests go, and how they show addresses. */
export interface RequestLog {
  readonly logger: Logger;
  readonly addresses: LoggedAddresses;
}

/** One line per request, without any text of the client but a valid trace id. */
export function logRequest(
  { logger, addresses }: RequestLog,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const line = {
    requestId: request.id,
    traceId: traceIdOf(request),
    method: request.method,
    route: routeOf(request),
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    address: loggedAddress(clientAddress(request), addresses),
    ...factsOf(request),
  };
  logger.info(line, 'request');
}

/** One line per message that could not be read as a request. */
export function logBroken(
  { logger, addresses }: RequestLog,
  { requestId, body, remoteAddress = '' }: BrokenAnswer,
): void {
  const { statusCode: status, apiErrorCode: code } = body;
  const address = loggedAddress(remoteAddress, addresses);
  logger.info({ requestId, route: 'unread', status, code, address }, 'request');
}

/**
 * The framework's logger. Its lines quote request targets, headers and messages; only the error's
 * kind is kept. The result of a handler after the answer of a deadline is dropped without a line.
 */
export function frameworkLogger(logger: Logger): FastifyBaseLogger {
  const line =
    (level: 'fatal' | 'error' | 'warn') =>
    (first: unknown): void => {
      const given: unknown = isError(first) ? first : Reflect.get(Object(first), 'err');
      const error = given === undefined ? undefined : loggedError(given);
      if (error?.code === 'FST_ERR_REP_ALREADY_SENT') return;
      logger[level]({ source: 'http framework', error }, 'http framework');
    };
  // Below warnings the framework reports nothing beyond the service's own lines.
  const none = (): void => undefined;
  const lines: FastifyBaseLogger = {
    level: logger.level,
    fatal: line('fatal'),
    error: line('error'),
    warn: line('warn'),
    info: none,
    debug: none,
    trace: none,
    silent: none,
    child: () => lines,
  };
  return lines;
}
