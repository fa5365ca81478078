import { errors } from 'undici';
import { errorCode } from '../../foundation/error-code.js';
import { AddressNotAllowed } from './endpoint-guard.js';
import { NameNotResolved } from './find-addresses.js';

/**
 * Why a POST got no answer:
 * - `address-not-allowed`: the host is or has an address that is not public;
 * - `name-not-found`: the name has no address; `name-server`: its name servers do not answer;
 * - `refused`: the port is closed; `unreachable`: there is no route, or no free socket here;
 * - `tls`: the certificate is not trusted, or the encryption failed;
 * - `timeout`: the answer did not end in time;
 * - `broken-off`: the connection was closed before the answer ended;
 * - `not-http`: the answer is not HTTP, or its headers are too long;
 * - `stopped`: this process ended the attempt.
 */
export type PostFailure =
  | 'address-not-allowed'
  | 'name-not-found'
  | 'name-server'
  | 'refused'
  | 'unreachable'
  | 'tls'
  | 'timeout'
  | 'broken-off'
  | 'not-http'
  | 'stopped';

const BY_CODE: readonly (readonly [RegExp, PostFailure])[] = [
  [/^ECONNREFUSED$/, 'refused'],
  [/^(EHOST|ENET)(UNREACH|DOWN)$|^E(ADDRNOTAVAIL|ACCES|PERM|INVAL|MFILE|NFILE)$/, 'unreachable'],
  [/^ETIMEDOUT$|^UND_ERR_[A-Z]+_TIMEOUT$/, 'timeout'],
  [/^UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$/, 'not-http'],
  // OpenSSL's codes for certificates have no common prefix.
  [
    /^ERR_(TLS|SSL|OSSL)_|^EPROTO$|CERT|^UNABLE_TO_|SIGNATURE|HOSTNAME_MISMATCH|^INVALID_(CA|PURPOSE)/,
    'tls',
  ],
];

/** @param error the rejection of the request. */
export function postFailureOf(error: unknown): PostFailure {
  if (error instanceof AddressNotAllowed) return 'address-not-allowed';
  if (error instanceof NameNotResolved) return error.reason;
  if (error instanceof errors.HTTPParserError) return 'not-http';
  const code = errorCode(error) ?? '';
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'broken-off';
}
