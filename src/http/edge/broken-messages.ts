import type { IncomingMessage } from 'node:http';
import { ApiError, unauthorized } from './api-error.js';

/**
 * Longest request target, or 414. Fits two ids and a code, percent-encoded: 255 × 12 bytes each.
 */
export const TARGET_BYTES_MAX = 16 * 1024;
/** Limit of request line and headers; Node stops parsing beyond it. */
export const HEAD_BYTES_MAX = 32 * 1024;
export const TARGET_TOO_LONG = `The request target is longer than ${TARGET_BYTES_MAX} bytes: shorten ids and query`;
const HEAD_TOO_LONG = `The header fields are larger than ${HEAD_BYTES_MAX} bytes: send fewer or shorter ones`;
const NO_HTTP =
  'The message is not valid HTTP/1.1: send request line, header fields and body as RFC 9112 says';

/** Node's parse error. `rawPacket` is the last received piece. */
export interface BrokenMessage extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** The parser's offset in `rawPacket`. */
  readonly bytesParsed?: number;
}

const refused = (status: number, message: string): ApiError =>
  new ApiError('BAD_REQUEST', { status, message, headers: { Connection: 'close' } });

export const requestLate = (): ApiError =>
  refused(408, 'The request did not arrive in time: send it without pauses');
export const methodUnsupported = (): ApiError =>
  refused(501, 'The method is not supported: use GET, HEAD, POST, PUT, PATCH or DELETE');

/** The answer to a message that the framework does not see. */
export function describeBroken(error: BrokenMessage): ApiError {
  const line = lineOf(error);
  const notHttp = refused(400, NO_HTTP);
  switch (error.code ?? '') {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestLate();
    case 'HPE_HEADER_OVERFLOW':
      if (isOversizeToken(line)) return unauthorized('RS032');
      return line.length > TARGET_BYTES_MAX && isRequestLine(line)
        ? refused(414, TARGET_TOO_LONG)
        : refused(431, HEAD_TOO_LONG);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('PAYLOAD_TOO_LARGE');
    case 'HPE_INVALID_METHOD':
      // The parser has the same code for bytes that are not a method.
      return isRequestLine(line) && / HTTP\/\d/.test(line) ? methodUnsupported() : notHttp;
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return refused(505, 'The HTTP version is not supported: use HTTP/1.1');
    default:
      return notHttp;
  }
}

/**
 * Why a message that Node accepts is refused and its connection closed: a proxy might read other
 * requests in it.
 */
export function messageFault(message: IncomingMessage): ApiError | undefined {
  const { headers, rawHeaders, httpVersion } = message;
  const { 'transfer-encoding': coding = 'chunked', expect = '100-continue' } = headers;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && /^host$/i.test(name)).length;
  if (coding.trim().toLowerCase() !== 'chunked')
    return refused(400, 'The transfer encoding is not supported: use chunked, or a length');
  if (hosts > 1) return refused(400, 'There is more than one Host: send one');
  if (hosts === 0 && httpVersion === '1.1') return refused(400, 'Host is missing: send it');
  return expect.toLowerCase() === '100-continue'
    ? undefined
    : refused(417, 'The expectation cannot be met: send Expect: 100-continue or none');
}

const isRequestLine = (line: string): boolean => /^[A-Za-z-]{1,64} \S/.test(line);

/**
 * An oversize token is an invalid token. The header's name may be in an earlier packet: then only
 * characters of a token are left.
 */
const isOversizeToken = (line: string): boolean =>
  /^(?:x-saasquatch-user-token|authorization):\s*(?:bearer\s)?/i.test(line) ||
  /^[\w-]{256,}(?:\.[\w-]*){0,2}\s*$/.test(line);

/** The line at which the parser stopped, within the last packet. */
function lineOf({ rawPacket = Buffer.alloc(0), bytesParsed = 0 }: BrokenMessage): string {
  const begin = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', begin);
  return rawPacket.subarray(begin, end === -1 ? undefined : end).toString('latin1');
}
