import { SESSION_SECONDS } from '../../operations/sessions/operator-sessions.js';
import { consoleCookie } from './console-cookie.js';

const NAME = 'ledger_console';
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Each costs a look-up. */
const TOKENS_MAX = 8;

/**
 * The tokens of sessions in a `Cookie` header. A page of a sibling domain can add a cookie of the
 * name: any valid one counts.
 */
export const sessionTokensIn = (header: string | undefined): readonly string[] =>
  (header ?? '')
    .split(';')
    .map((pair) => pair.trim().split('=', 2))
    .flatMap(([name, value = '']) => (name === NAME && TOKEN.test(value) ? [value] : []))
    .slice(0, TOKENS_MAX);

/**
 * `Set-Cookie` of a session.
 * @param isSecure whether the browser uses TLS: the cookie is then sent over TLS only.
 */
export const sessionCookie = (token: string, isSecure: boolean): string =>
  consoleCookie(`${NAME}=${token}`, SESSION_SECONDS, isSecure);

export const endedCookie = (isSecure: boolean): string => consoleCookie(`${NAME}=`, 0, isSecure);
