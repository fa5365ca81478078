import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { LoggedAddresses } from '../../config/config.js';
import { isError, loggedError } from '../../foundation/describe-error.js';
import { clientAddress, loggedAddress } from './client-address.js';
import type { BrokenAnswer } from './connections.js';
import { factsOf } from './request-facts.js';
import { traceIdOf } from './request-span.js';

/** The route's pattern: paths contain clients' ids, often e-mail addresses. */
export const routeOf = (request: FastifyRequest): string =>
  request.routeOptions.config?.access === undefined
    ? 'unmatched'
    : (request.routeOptions.url ?? 'unmatched');

export interface RequestLog {
  readonly logger: Logger;
  readonly addresses: LoggedAddresses;
}

/** One line per request; of the client's texts only a valid trace id. */
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

/** One line per message that is not a request. */
export function logBroken(
  { logger, addresses }: RequestLog,
  { requestId, body, remoteAddress = '' }: BrokenAnswer,
): void {
  const { statusCode: status, apiErrorCode: code } = body;
  const address = loggedAddress(remoteAddress, addresses);
  logger.info({ requestId, route: 'unread', status, code, address }, 'request');
}

/**
 * The framework's logger. Only the kind of an error is logged, because messages quote the request.
 * A handler's result after the deadline is dropped.
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
  // Below warnings the framework adds nothing to the service's own lines.
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
