import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { isError, loggedError } from '../../foundation/describe-error.js';
import { errorCode } from '../../foundation/error-code.js';
import type { ErrorPage } from './access.js';
import { ApiError, unavailable, type ErrorJson } from './api-error.js';
import { TARGET_TOO_LONG } from './broken-messages.js';
import { wrongTypeTolerated } from './json-body.js';
import { noteFacts } from './request-facts.js';
import { routeOf } from './request-log.js';
import { traceIdOf } from './request-span.js';
import { isLiteral } from './route-table.js';

export interface ErrorMapping {
  readonly logger: Logger;
  /** True for an error of an unavailable or slow store: 503 instead of 500. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** The body for a person: its message names the values of the request. */
  readonly completed: (
    error: ErrorJson,
    request: FastifyRequest,
    headers: ApiError['headers'],
  ) => ErrorJson;
  /** Of a path that is no route. */
  readonly pageOfUnmatched?: ErrorPage | undefined;
}

/** Answers every error of the framework and of controllers with the one JSON body. */
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

/** Sends the answer to an error, unless an answer has begun. Unexpected errors are logged. */
export function answerWithError(
  exception: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  mapping: ErrorMapping,
): void {
  const error = loggedRefusalOf(exception, request, mapping);
  if (reply.sent || reply.raw.headersSent) return;
  noteFacts(request, { code: error.code });
  // The framework would close the connection after an unread body; Node drops the rest.
  const kept = reply.raw.shouldKeepAlive ? 'keep-alive' : 'close';
  if (reply.hasHeader('connection')) reply.header('connection', kept);
  // The controller set these headers for another answer.
  reply.removeHeader('content-length');
  void reply.code(error.body.statusCode).headers(error.headers);
  const { url = '', config } = request.routeOptions;
  // A target with an encoded segment is no route: it has the page of none.
  const access = isLiteral(url, request.raw.url ?? '') ? config?.access : undefined;
  const { page = mapping.pageOfUnmatched } = access ?? {};
  const shown = page?.(request, reply, error.body);
  if (shown !== undefined) return void reply.send(shown);
  void reply
    .type('application/json; charset=utf-8')
    .send(mapping.completed(error.body, request, error.headers));
}

/** The refusal that a client gets for an error. Unexpected ones are logged. */
function loggedRefusalOf(
  exception: unknown,
  request: FastifyRequest,
  { logger, isUnavailable }: ErrorMapping,
): ApiError {
  const cause =
    exception instanceof HttpException && isError(exception.cause) ? exception.cause : exception;
  // Turned-away clients are no failure, and a line for each would add load at the worst moment.
  if (cause instanceof ApiError) return cause;
  const refusal = ofFramework(cause, request) ?? ofStatus(exception);
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

function ofFramework(error: unknown, request: FastifyRequest): ApiError | undefined {
  const refused = (message: string, status = 400): ApiError =>
    new ApiError('BAD_REQUEST', { status, message });
  switch (errorCode(error) ?? '') {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      // A wrong content type is reported before a size; until here an empty body was possible.
      return new ApiError(
        wrongTypeTolerated(request) ? 'UNSUPPORTED_MEDIA_TYPE' : 'PAYLOAD_TOO_LARGE',
      );
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refused('The body is not as long as its Content-Length');
    case 'FST_ERR_BAD_URL':
      return refused('The path is not percent-encoded UTF-8: encode each segment');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return refused(TARGET_TOO_LONG, 414);
    case 'ECONNRESET':
      // The client disconnected while it was sending.
      return request.raw.complete ? undefined : refused('The body ended before its Content-Length');
    default:
      return undefined;
  }
}

/** Of the framework of controllers; the service's own code throws `ApiError`. */
function ofStatus(exception: unknown): ApiError | undefined {
  const status = exception instanceof HttpException ? exception.getStatus() : 500;
  return status < 500 ? new ApiError('BAD_REQUEST', { status }) : undefined;
}
