import { consoleCookie } from './console-cookie.js';

/** The page that was opened before signing in. A cookie remembers it. */

const NAME = 'ledger_console_wanted';
const REMEMBERED_SECONDS = 600;
const LENGTH_MAX = 1_000;

/** As a header can carry it. */
const OWN_PATH = /^\/console\/[!-~]*$/;

/** A page of the console, its path normalised as browsers do; undefined: it is none. */
export function ownPage(path: string): string | undefined {
  const base = 'http://console';
  if (path.length > LENGTH_MAX || !OWN_PATH.test(path) || !URL.canParse(path, base))
    return undefined;
  const { pathname, search } = new URL(path, base);
  const isOwn = OWN_PATH.test(pathname) && !/\/\/|%2f|%5c/i.test(pathname);
  return isOwn ? `${pathname}${search}` : undefined;
}

/** `Set-Cookie` that remembers it; undefined: it is no page below the first one. */
export function wantedCookie(path: string, isSecure: boolean): string | undefined {
  const page = ownPage(path);
  return page === undefined
    ? undefined
    : consoleCookie(`${NAME}=${encodeURIComponent(page)}`, REMEMBERED_SECONDS, isSecure);
}

export const forgottenCookie = (isSecure: boolean): string =>
  consoleCookie(`${NAME}=`, 0, isSecure);

/** The page in a `Cookie` header; undefined: none. */
export function wantedIn(header: string | undefined): string | undefined {
  const [, value = ''] = new RegExp(`(?:^|;\\s*)${NAME}=([^;]*)`).exec(header ?? '') ?? [];
  const path = decoded(value);
  return path === undefined ? undefined : ownPage(path);
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
