import { SESSION_SECONDS } from '../../../operations/sessions/operator-sessions.js';
import { consoleCookie } from './console-cookie.js';

const NAME = 'ledger_console';
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The token of the session in a `Cookie` header; undefined: none. */
export function sessionTokenIn(header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    if (name === NAME && TOKEN.test(value)) return value;
  }
  return undefined;
}

/**
 * `Set-Cookie` of a session.
 * @param isSecure whether the browser uses TLS: the cookie is then sent over TLS only.
 */
export const sessionCookie = (token: string, isSecure: boolean): string =>
  consoleCookie(`${NAME}=${token}`, SESSION_SECONDS, isSecure);

export const endedCookie = (isSecure: boolean): string => consoleCookie(`${NAME}=`, 0, isSecure);
