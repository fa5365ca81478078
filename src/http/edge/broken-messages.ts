import type { IncomingMessage } from 'node:http';
import { errorJson, type ErrorJson } from './api-error.js';

/**
 * Limit of a request target; beyond it the answer is 414. Two ids and a code of 255 characters, 12
 * bytes each when percent-encoded, fit.
 */
export const TARGET_BYTES_MAX = 16 * 1024;
/** Request line and headers together; beyond it Node stops parsing. */
export const HEAD_BYTES_MAX = 32 * 1024;
export const TARGET_TOO_LONG = `The request target is longer than ${TARGET_BYTES_MAX} bytes: shorten ids and query`;
export const TOO_SLOW = 'The request did not arrive in time: send it without pauses';
const NO_HTTP =
  'The message is not valid HTTP/1.1: send request line, header fields and body as RFC 9112 says';

/** Node's error for a message that could not be parsed. `rawPacket` is the last piece read. */
export interface BrokenMessage extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** The parser's offset in `rawPacket`. */
  readonly bytesParsed?: number;
}

/** The answer to a message below the framework. */
export function describeBroken(error: BrokenMessage): ErrorJson {
  switch (error.code ?? '') {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return errorJson('BAD_REQUEST', {
        status: 408,
        message: TOO_SLOW,
      });
    case 'HPE_HEADER_OVERFLOW':
      if (isOversizeToken(lineOf(error))) return errorJson('UNAUTHORIZED', { rsCode: 'RS032' });
      return isLongRequestLine(lineOf(error))
        ? errorJson('BAD_REQUEST', { status: 414, message: TARGET_TOO_LONG })
        : errorJson('BAD_REQUEST', {
            status: 431,
            message: `The header fields are larger than ${HEAD_BYTES_MAX} bytes: send fewer or shorter ones`,
          });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return errorJson('PAYLOAD_TOO_LARGE');
    case 'HPE_INVALID_METHOD':
      // The parser reports an unknown method and bytes that are no method with the same code.
      if (!/^[A-Za-z-]{1,64} \S+ HTTP\/\d/.test(lineOf(error)))
        return errorJson('BAD_REQUEST', { message: NO_HTTP });
      return errorJson('BAD_REQUEST', {
        status: 501,
        message: 'The method is not supported: use GET, HEAD, POST, PUT, PATCH or DELETE',
      });
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return errorJson('BAD_REQUEST', {
        status: 505,
        message: 'The HTTP version is not supported: use HTTP/1.1',
      });
    default:
      return errorJson('BAD_REQUEST', { message: NO_HTTP });
  }
}

/**
 * Why a proxy before the service might read other requests in this connection than the service
 * does; undefined: it would not. Node accepts such messages.
 */
export function framingFault({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return 'The transfer encoding is not supported: use chunked, or send a Content-Length';
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  return hosts > 1 ? 'There is more than one Host: send one' : undefined;
}

/**
 * A token that is too large is a bad token. The header's name may be in an earlier packet; then
 * only characters of the token's alphabet remain.
 */
const isOversizeToken = (line: string): boolean =>
  /^(?:x-saasquatch-user-token|authorization):\s*(?:bearer\s)?/i.test(line) ||
  /^[\w-]{256,}(?:\.[\w-]*){0,2}\s*$/.test(line);

const isLongRequestLine = (line: string): boolean =>
  line.length > TARGET_BYTES_MAX && /^[A-Za-z-]{1,64} \S/.test(line);

/** The line at which the parser stopped, as far as the last packet contains it. */
function lineOf({ rawPacket, bytesParsed = 0 }: BrokenMessage): string {
  if (rawPacket === undefined) return '';
  const begin = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', begin);
  return rawPacket.subarray(begin, end === -1 ? undefined : end).toString('latin1');
}
