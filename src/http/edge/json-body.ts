import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parse } from 'secure-json-parse';
import { ApiError, badRequest } from '../api-error.js';

export const BODY_BYTES_MAX = 1024 * 1024;
const DEPTH_MAX = 32;

/** Requests whose content type is wrong, on a route whose body is empty anyhow: tolerated as long as nothing is in it. */
const tolerated = new WeakSet<FastifyRequest>();

export const wrongTypeTolerated = (request: FastifyRequest): boolean => tolerated.has(request);

/**
 * Checks the content type before anything of the body is read, so that it precedes the size (413) and the content (400).
 * @throws {ApiError} UNSUPPORTED_MEDIA_TYPE.
 */
export function checkContentType(request: FastifyRequest, emptyBody: boolean): void {
  const { headers } = request.raw;
  if (!isJsonInUtf8(headers['content-type']) || !isIdentity(headers['content-encoding'])) {
    if (!emptyBody || Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
    tolerated.add(request);
  }
  // What is left for the framework is the one parser for everything; it would judge the type again and by other rules.
  delete headers['content-type'];
}

const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding.trim() === '' || encoding.trim().toLowerCase() === 'identity';

/** A missing type is JSON. `application/json` alone is; its parameters are free, but a charset must be UTF-8. */
export function isJsonInUtf8(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type === '') return parameters.length === 0;
  if (type !== 'application/json') return false;
  return parameters.every((parameter) => !parameter.startsWith('charset') || /^charset\s*=\s*"?utf-?8"?$/.test(parameter));
}

/** Replaces the framework's parsers by one for every content type (see `checkContentType`). */
export function installBodyParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX }, (request: FastifyRequest, bytes: Buffer, done) => {
    try {
      done(null, parseBody(request, bytes));
    } catch (error) {
      done(error instanceof Error ? error : badRequest('the body is not valid JSON'));
    }
  });
}

function parseBody(request: FastifyRequest, bytes: Buffer): unknown {
  if (!tolerated.has(request)) return parseJson(bytes);
  const text = bytes.toString('latin1').trim();
  if (text !== '' && !/^\{\s*\}$/.test(text)) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  return undefined;
}

/**
 * Reads a body. Nothing, or white space alone, is undefined.
 * @throws {ApiError} BAD_REQUEST for what is no JSON text in UTF-8, could poison a prototype, is nested deeper than 32, or holds a
 * NUL or half a surrogate pair: such text can be neither stored nor compared.
 */
export function parseJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  if (text.trim() === '') return undefined;
  const value = parseText(text);
  checkTree(value, text.includes('\\u'));
  return value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw badRequest('the body is not valid UTF-8');
  }
}

function parseText(text: string): unknown {
  try {
    const value: unknown = parse(text, undefined, { protoAction: 'error', constructorAction: 'error' });
    return value;
  } catch (error) {
    // The parser's own words quote the text; ours do not.
    const poisoned = error instanceof SyntaxError && error.message.includes('forbidden prototype');
    throw badRequest(poisoned ? 'the body holds a forbidden member (__proto__ or constructor.prototype)' : 'the body is not valid JSON');
  }
}

/** Half a surrogate pair, or NUL. Only an escape can bring one into valid UTF-8, so texts without escapes are not searched. */
export const UNSTORABLE = /[\p{Surrogate}\0]/u;

/** Walks with an own stack: a body chooses its depth, and must not choose that of the call stack. */
function checkTree(root: unknown, hasEscapes: boolean): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const node of level) {
      if (typeof node === 'string') {
        if (hasEscapes && UNSTORABLE.test(node)) throw badRequest('the body holds a NUL character or half a surrogate pair');
      } else if (typeof node === 'object' && node !== null) {
        if (depth >= DEPTH_MAX) throw badRequest(`the body is nested deeper than ${DEPTH_MAX}`);
        if (hasEscapes && !Array.isArray(node)) for (const key of Object.keys(node)) next.push(key);
        for (const child of Object.values(node)) next.push(child);
      }
    }
    level = next;
  }
}
