import { consoleCookie } from './console-cookie.js';

/** The page that somebody asked for who had to sign in first. A cookie remembers it. */

const NAME = 'ledger_console_wanted';
const REMEMBERED_SECONDS = 600;
const LENGTH_MAX = 1_000;

/** A path of the console, as a header can carry it. */
export const OWN_PATH = /^\/console\/[!-~]*$/;

/** `Set-Cookie` that remembers it; undefined: it is no page below the first one. */
export function wantedCookie(path: string, isSecure: boolean): string | undefined {
  const isPage = OWN_PATH.test(path) && path.length <= LENGTH_MAX;
  return isPage
    ? consoleCookie(`${NAME}=${encodeURIComponent(path)}`, REMEMBERED_SECONDS, isSecure)
    : undefined;
}

export const forgottenCookie = (isSecure: boolean): string =>
  consoleCookie(`${NAME}=`, 0, isSecure);

/** The page in a `Cookie` header; undefined: none. */
export function wantedIn(header: string | undefined): string | undefined {
  const [, value = ''] = new RegExp(`(?:^|;\\s*)${NAME}=([^;]*)`).exec(header ?? '') ?? [];
  const path = decoded(value);
  return path !== undefined && OWN_PATH.test(path) ? path : undefined;
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
