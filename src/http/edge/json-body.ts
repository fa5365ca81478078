import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parse } from 'secure-json-parse';
import type { AccessRule } from './access.js';
import { ApiError, badRequest } from './api-error.js';
import { DEPTH_MAX, isDeeperThan, withRoundedMarked } from '../../foundation/json-text.js';
import { NOT_STORABLE, unstorablePath, utf8Text } from '../../foundation/outside-text.js';

export const BODY_BYTES_MAX = 1024 * 1024;

/** Requests with a wrong content type that are accepted only with an empty body. */
const withWrongType = new WeakSet<FastifyRequest>();

const marked = new WeakMap<object, unknown>();

/** A body with its rounded integers marked (see `roundedIn`); undefined: nothing was rounded. */
export const markedBody = (body: unknown): unknown => marked.get(Object(body) as object);

export const hasWrongType = (request: FastifyRequest): boolean => withWrongType.has(request);

/**
 * Precedes the checks of size (413) and content (400). @throws {ApiError} UNSUPPORTED_MEDIA_TYPE.
 */
export function checkContentType(request: FastifyRequest, rule: AccessRule): void {
  const { kind, emptyBody } = rule;
  const { method = '', headers } = request.raw;
  if (method === 'GET' || method === 'HEAD') return;
  const { 'content-type': type = '', 'content-encoding': coding = '' } = headers;
  if (rule.upload) {
    if (UPLOADED.test(type) && coding === '') return;
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', { message: NO_UPLOAD });
  }
  const isJson = isJsonInUtf8(type) && ['', 'identity'].includes(coding.trim().toLowerCase());
  const length = Number(headers['content-length'] ?? 0);
  const hasBody = length > 0 || headers['transfer-encoding'] !== undefined;
  // Pages of other sites can send any body without preflight except JSON.
  const mayBeOfPage = kind === 'operator' && method !== 'DELETE' && hasBody && !(type && isJson);
  const mayBeEmpty = (emptyBody || method === 'DELETE') && length <= BODY_BYTES_MAX;
  if (mayBeOfPage || !(isJson || mayBeEmpty)) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  if (!isJson) withWrongType.add(request);
  // The parser takes every type; the framework would check it again by other rules.
  delete headers['content-type'];
}

const UPLOADED = /^\s*(?:text\/csv|application\/x-ndjson)\s*(?:;.*)?$/i;
const NO_UPLOAD = 'The body must be a file: text/csv or application/x-ndjson, in UTF-8';

/** No content type, or JSON without another charset. */
function isJsonInUtf8(contentType: string): boolean {
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  if (type !== 'application/json') return contentType.trim() === '';
  return parameters.every(
    (parameter) => !parameter.startsWith('charset') || /^charset\s*=\s*"?utf-?8"?$/.test(parameter),
  );
}

/** Installs one parser for all content types (see `checkContentType`). */
export function installBodyParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  const files = ['text/csv', 'application/x-ndjson'];
  server.addContentTypeParser(files, (_request, stream, done) => done(null, stream));
  const options = { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX } as const;
  server.addContentTypeParser('*', options, async (request: FastifyRequest, bytes: Buffer) =>
    parseBody(request, bytes),
  );
}

function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  if (request.routeOptions.config.access?.rawBody) return bytes;
  if (!withWrongType.has(request)) return parseJson(bytes);
  if (!/^\s*(?:\{\s*\}\s*)?$/.test(bytes.toString('latin1')))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  return undefined;
}

/**
 * Parses a body; undefined: empty or white space. @throws {ApiError} BAD_REQUEST for anything but a
 * JSON object in UTF-8, for `__proto__` and `constructor.prototype`, for nesting beyond 32, and for
 * NUL and lone surrogates, which cannot be stored.
 */
function parseJson(bytes: Buffer): unknown {
  const text = utf8Text(bytes);
  if (text === undefined) throw badRequest('the body is not valid UTF-8');
  if (text.trim() === '') return undefined;
  if (isDeeperThan(text, DEPTH_MAX))
    throw badRequest(`the body is nested deeper than ${DEPTH_MAX}`);
  const value = parseText(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badRequest('the body must be a JSON object');
  // In valid UTF-8 only escapes can produce characters that cannot be stored.
  if (text.includes('\\u') && unstorablePath(value) !== undefined)
    throw badRequest(`the body ${NOT_STORABLE}`);
  const withMarks = withRoundedMarked(text);
  if (withMarks !== undefined) marked.set(value, withMarks);
  return value;
}

function parseText(text: string): unknown {
  try {
    return parse(text) as unknown;
  } catch (error) {
    // The parser's message would quote the text.
    throw badRequest(
      String(error).includes('forbidden prototype')
        ? 'the body holds a forbidden member (__proto__ or constructor.prototype)'
        : 'the body is not valid JSON',
    );
  }
}
