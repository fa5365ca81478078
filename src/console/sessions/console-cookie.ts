/**
 * `Set-Cookie` for pages of the console alone, and for no script.
 * @param pair `name=value`.
 * @param seconds how long the browser keeps it; 0: no longer.
 * @param isSecure whether the browser uses TLS: the cookie is then sent over TLS only.
 */
export const consoleCookie = (pair: string, seconds: number, isSecure: boolean): string =>
  [
    pair,
    'Path=/console',
    `Max-Age=${seconds}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ');
