import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isError, loggedError } from '../../foundation/describe-error.js';
import { errorCode } from '../../foundation/error-code.js';
import type { ErrorPage } from './access.js';
import { ApiError, unavailable, type ErrorJson } from './api-error.js';
import { TARGET_TOO_LONG } from './broken-messages.js';
import { hasWrongType } from './json-body.js';
import { addFacts } from './request-facts.js';
import { routeOf } from './request-log.js';
import { traceIdOf } from './request-span.js';
import { isLiteral } from './route-table.js';

export interface ErrorMapping {
  readonly logger: Logger;
  /** Recognises errors of unavailable or slow stores: 503 instead of 500. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Completes a body's message with values of the request. */
  readonly completed: (
    error: ErrorJson,
    request: FastifyRequest,
    headers: ApiError['headers'],
  ) => ErrorJson;
  /** For paths without a route. */
  readonly pageOfUnmatched?: ErrorPage | undefined;
}

/** Answers errors of the framework and of controllers with the one JSON body. */
@Catch()
export class HttpErrorFilter implements ExceptionFilter {
  constructor(private readonly mapping: ErrorMapping) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    answerWithError(
      exception,
      http.getRequest<FastifyRequest>(),
      http.getResponse<FastifyReply>(),
      this.mapping,
    );
  }
}

/** Answers with an error unless an answer has begun. Unexpected errors are logged. */
export function answerWithError(
  exception: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  mapping: ErrorMapping,
): void {
  const error = loggedRefusalOf(exception, request, mapping);
  if (reply.sent || reply.raw.headersSent) return;
  addFacts(request, { code: error.code });
  // The framework would close the connection after an unread body; Node discards the rest.
  const kept = reply.raw.shouldKeepAlive ? 'keep-alive' : 'close';
  if (reply.hasHeader('connection')) reply.header('connection', kept);
  // The controller set these headers for another answer.
  reply.removeHeader('content-length');
  void reply.code(error.body.statusCode).headers(error.headers);
  const { url = '', config } = request.routeOptions;
  // A target with an encoded segment is not a route.
  const access = isLiteral(url, request.raw.url ?? '') ? config?.access : undefined;
  const { page = mapping.pageOfUnmatched } = access ?? {};
  const shown = page?.(request, reply, error.body);
  if (shown !== undefined) return void reply.send(shown);
  void reply
    .type('application/json; charset=utf-8')
    .send(mapping.completed(error.body, request, error.headers));
}

/** The answer to an error. Unexpected errors are logged. */
function loggedRefusalOf(
  exception: unknown,
  request: FastifyRequest,
  { logger, isUnavailable }: ErrorMapping,
): ApiError {
  const cause =
    exception instanceof HttpException && isError(exception.cause) ? exception.cause : exception;
  // Expected refusals are not logged: a line for each would add load at the worst moment.
  if (cause instanceof ApiError) return cause;
  const refusal = frameworkError(cause, request) ?? controllerError(exception);
  if (refusal !== undefined) return refusal;
  const isAway = isUnavailable(cause);
  const line = {
    requestId: request.id,
    traceId: traceIdOf(request),
    method: request.method,
    route: routeOf(request),
    error: loggedError(exception),
  };
  logger[isAway ? 'warn' : 'error'](line, 'request failed');
  return isAway ? unavailable() : new ApiError('INTERNAL');
}

function frameworkError(error: unknown, request: FastifyRequest): ApiError | undefined {
  const refused = (message: string, status = 400): ApiError =>
    new ApiError('BAD_REQUEST', { status, message });
  switch (errorCode(error) ?? '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      // The content type precedes the size; until here the body could be empty.
      return new ApiError(hasWrongType(request) ? 'UNSUPPORTED_MEDIA_TYPE' : 'PAYLOAD_TOO_LARGE');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refused('The body is not as long as its Content-Length');
    case 'FST_ERR_BAD_URL':
      return refused('The path is not percent-encoded UTF-8: encode each segment');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return refused(TARGET_TOO_LONG, 414);
    case 'ECONNRESET':
      // The client disconnected during the body.
      return request.raw.complete ? undefined : refused('The body ended before its Content-Length');
    default:
      return undefined;
  }
}

/** Errors of the controllers' framework; the service itself throws `ApiError`. */
function controllerError(exception: unknown): ApiError | undefined {
  const status = exception instanceof HttpException ? exception.getStatus() : 500;
  return status < 500 ? new ApiError('BAD_REQUEST', { status }) : undefined;
}
