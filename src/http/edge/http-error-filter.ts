import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { ErrorPage } from './access.js';
import { ApiError, unavailable } from './api-error.js';
import { completedError } from './error-message.js';
import { TARGET_TOO_LONG, TOO_SLOW } from './broken-messages.js';
import { wrongTypeTolerated } from './json-body.js';
import { noteFacts } from './request-facts.js';
import { isError, loggedError, routeOf } from './request-log.js';
import { traceIdOf } from './request-span.js';
import { isLiteral } from './route-table.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What a client is told of an error. Unexpected ones are logged. */
    refusalOf: (exception: unknown) => ApiError;
  }
}

export interface ErrorMapping {
  readonly logger: Logger;
  /** True for an error of an unavailable or slow store: 503 instead of 500. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Of a path that is no route. */
  readonly pageOfUnmatched?: ErrorPage | undefined;
}

/** The time for an answer is over. */
export class AnswerLate extends Error {
  override readonly name = 'AnswerLate';
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
  if (reply.hasHeader('connection')) reply.header('connection', kept(reply));
  // The controller set these headers for another answer.
  reply.removeHeader('content-length');
  void reply.code(error.body.statusCode).headers(error.headers);
  const { url = '', config } = request.routeOptions;
  // A target with an encoded segment is no route: it has the page of none.
  const access = isLiteral(url, request.raw.url ?? '') ? config?.access : undefined;
  const { page = mapping.pageOfUnmatched } = access ?? {};
  const shown = page?.(request, reply, error.body);
  if (shown !== undefined) return void reply.send(shown);
  const body = completedError(error.body, request, error.headers);
  void reply.type('application/json; charset=utf-8').send(body);
}

const kept = ({ raw }: FastifyReply): string => (raw.shouldKeepAlive ? 'keep-alive' : 'close');

/** What a client is told of an error. Unexpected ones are logged. */
export function loggedRefusalOf(
  exception: unknown,
  request: FastifyRequest,
  mapping: ErrorMapping,
): ApiError {
  const error = apiErrorOf(exception, request, mapping);
  if (error.code === 'INTERNAL' || error.code === 'UNAVAILABLE')
    logFailure(error, exception, request, mapping);
  return error;
}

function logFailure(
  error: ApiError,
  exception: unknown,
  request: FastifyRequest,
  { logger }: Pick<ErrorMapping, 'logger'>,
): void {
  // Turned-away clients are no failure, and a line for each would add load at the worst moment.
  if (exception instanceof ApiError) return;
  logger[error.code === 'INTERNAL' ? 'error' : 'warn'](
    {
      requestId: request.id,
      traceId: traceIdOf(request),
      method: request.method,
      route: routeOf(request),
      error: loggedError(exception),
    },
    'request failed',
  );
}

export function apiErrorOf(
  exception: unknown,
  request: FastifyRequest,
  mapping: Pick<ErrorMapping, 'isUnavailable'>,
): ApiError {
  if (exception instanceof ApiError) return exception;
  const cause =
    exception instanceof HttpException && isError(exception.cause) ? exception.cause : exception;
  if (cause instanceof ApiError) return cause;
  return (
    ofDeadline(cause, request) ??
    ofFramework(cause, request) ??
    ofOwnStores(cause, mapping) ??
    ofStatus(exception) ??
    new ApiError('INTERNAL')
  );
}

/** The request was late: its body, where that has not arrived as a whole. */
const ofDeadline = (error: unknown, { raw }: FastifyRequest): ApiError | undefined => {
  if (!(error instanceof AnswerLate)) return undefined;
  if (raw.complete) return unavailable();
  return new ApiError('BAD_REQUEST', {
    status: 408,
    message: TOO_SLOW,
    headers: { Connection: 'close' },
  });
};

function ofFramework(error: unknown, request: FastifyRequest): ApiError | undefined {
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      // A wrong content type is reported before a size; until here an empty body was possible.
      return new ApiError(
        wrongTypeTolerated(request) ? 'UNSUPPORTED_MEDIA_TYPE' : 'PAYLOAD_TOO_LARGE',
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('UNSUPPORTED_MEDIA_TYPE');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ApiError('BAD_REQUEST', {
        message: 'The body is not as long as its Content-Length',
      });
    case 'FST_ERR_BAD_URL':
      return new ApiError('BAD_REQUEST', {
        message: 'The path is not percent-encoded UTF-8: encode each segment',
      });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ApiError('BAD_REQUEST', {
        status: 414,
        message: TARGET_TOO_LONG,
      });
    case 'ECONNRESET':
      // The client disconnected while it was sending.
      return request.raw.complete
        ? undefined
        : new ApiError('BAD_REQUEST', { message: 'The body ended before its Content-Length' });
    default:
      return undefined;
  }
}

const ofOwnStores = (
  error: unknown,
  { isUnavailable }: Pick<ErrorMapping, 'isUnavailable'>,
): ApiError | undefined => (isUnavailable(error) ? unavailable() : undefined);

function ofStatus(exception: unknown): ApiError | undefined {
  if (!(exception instanceof HttpException)) return undefined;
  const status = exception.getStatus();
  switch (status) {
    case 401:
      return new ApiError('UNAUTHORIZED', {
        headers: { 'WWW-Authenticate': 'Basic realm="referral-ledger"' },
      });
    case 403:
      return new ApiError('FORBIDDEN');
    case 404:
      return new ApiError('NOT_FOUND');
    case 405:
      return new ApiError('METHOD_NOT_ALLOWED');
    case 413:
      return new ApiError('PAYLOAD_TOO_LARGE');
    case 415:
      return new ApiError('UNSUPPORTED_MEDIA_TYPE');
    case 429:
      return new ApiError('RATE_LIMITED', { headers: { 'Retry-After': '1' } });
    case 503:
      return unavailable();
    default:
      return status >= 400 && status < 500 ? new ApiError('BAD_REQUEST', { status }) : undefined;
  }
}

function codeOf(error: unknown): unknown {
  return isError(error) ? Reflect.get(error, 'code') : undefined;
}
