import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parse } from 'secure-json-parse';
import { ApiError, badRequest } from './api-error.js';
import { NOT_STORABLE, unstorablePath, utf8Text } from '../../foundation/outside-text.js';

export const BODY_BYTES_MAX = 1024 * 1024;
/** Of JSON that clients send. */
export const DEPTH_MAX = 32;

/**
 * Requests with a wrong content type on a route whose body may be empty: accepted as long as the
 * body is empty.
 */
const tolerated = new WeakSet<FastifyRequest>();

export const wrongTypeTolerated = (request: FastifyRequest): boolean => tolerated.has(request);

/**
 * Checks the content type before the body is read, so that it precedes the size (413) and the
 * content (400).
 * @throws {ApiError} UNSUPPORTED_MEDIA_TYPE.
 */
export function checkContentType(request: FastifyRequest, emptyBody: boolean): void {
  const { headers } = request.raw;
  if (!isJsonInUtf8(headers['content-type']) || !isIdentity(headers['content-encoding'])) {
    if (!emptyBody || Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX)
      throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
    tolerated.add(request);
  }
  // The one parser takes every content type; the framework would check the type again, by other
  // rules.
  delete headers['content-type'];
}

/**
 * A page of another site can send any body but one that is called JSON. @throws {ApiError}
 * UNSUPPORTED_MEDIA_TYPE for such a body, also where it may be empty.
 */
export function demandJson({ raw: { headers } }: FastifyRequest): void {
  const hasBody =
    Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
  const type = headers['content-type'];
  if (hasBody && (!type || !isJsonInUtf8(type))) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
}

const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding.trim() === '' || encoding.trim().toLowerCase() === 'identity';

/**
 * A missing type is JSON, as is `application/json` with any parameters; a charset must be UTF-8.
 */
export function isJsonInUtf8(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (type === '') return parameters.length === 0;
  if (type !== 'application/json') return false;
  return parameters.every(
    (parameter) => !parameter.startsWith('charset') || /^charset\s*=\s*"?utf-?8"?$/.test(parameter),
  );
}

/** Replaces the framework's parsers by one for every content type (see `checkContentType`). */
export function installBodyParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
    (request: FastifyRequest, bytes: Buffer, done) => {
      try {
        done(null, parseBody(request, bytes));
      } catch (error) {
        done(error instanceof Error ? error : badRequest('the body is not valid JSON'));
      }
    },
  );
}

function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  if (request.routeOptions.config.access?.rawBody) return bytes;
  if (!tolerated.has(request)) return parseJson(bytes);
  const text = bytes.toString('latin1').trim();
  if (text !== '' && !/^\{\s*\}$/.test(text)) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  return undefined;
}

/**
 * Parses a body. An empty one, or white space alone, is undefined.
 * @throws {ApiError} BAD_REQUEST for text that is not JSON in UTF-8, that names `__proto__` or
 * `constructor.prototype`, that is nested deeper than 32, or that contains a NUL or half a
 * surrogate pair: such text can be neither stored nor compared.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  if (isDeeperThan(text, DEPTH_MAX))
    throw badRequest(`the body is nested deeper than ${DEPTH_MAX}`);
  const value = parseText(text);
  // In valid UTF-8 only an escape can produce characters that cannot be stored: without one there
  // is nothing to search.
  if (text.includes('\\u') && unstorablePath(value) !== undefined)
    throw badRequest(`the body ${NOT_STORABLE}`);
  return value;
}

function decode(bytes: Buffer): string {
  const text = utf8Text(bytes);
  if (text === undefined) throw badRequest('the body is not valid UTF-8');
  return text;
}

function parseText(text: string): unknown {
  try {
    const value: unknown = parse(text, undefined, {
      protoAction: 'error',
      constructorAction: 'error',
    });
    return value;
  } catch (error) {
    // The parser's message quotes the text.
    const poisoned = error instanceof SyntaxError && error.message.includes('forbidden prototype');
    throw badRequest(
      poisoned
        ? 'the body holds a forbidden member (__proto__ or constructor.prototype)'
        : 'the body is not valid JSON',
    );
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Scans the text before it is parsed: building a million nested arrays only to refuse them takes a
 * hundred times as long.
 */
export function isDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === OPEN_BRACKET || unit === OPEN_BRACE) {
      depth += 1;
      if (depth > max) return true;
    } else if (unit === CLOSE_BRACKET || unit === CLOSE_BRACE) depth -= 1;
  }
  return false;
}

/** The index of the closing quote of the string that begins at `begin`, or the end of the text. */
function endOfString(text: string, begin: number): number {
  let i = begin + 1;
  while (i < text.length && text.charCodeAt(i) !== QUOTE)
    i += text.charCodeAt(i) === BACKSLASH ? 2 : 1;
  return i;
}
