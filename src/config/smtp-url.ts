export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** Requires TLS with a valid certificate. */
  readonly requireTls: boolean;
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** @returns the address, or a description of valid ones: the value may contain a password. */
export function parseSmtpUrl(value: string): SmtpAddress | string {
  const problem =
    'must be the address of a mail server: smtps://user:password@host:465 or smtp://host:587, at most with ?requireTLS=true';
  if (!URL.canParse(value)) return problem;
  const url = new URL(value);
  const secure = url.protocol === 'smtps:';
  if (!secure && url.protocol !== 'smtp:') return problem;
  if (url.hostname === '' || !['', '/'].includes(url.pathname) || url.hash !== '') return problem;
  const options = [...url.searchParams];
  if (options.some(([name, text]) => name !== 'requireTLS' || !/^(true|false)$/.test(text)))
    return problem;
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined) return problem;
  const login = user === '' ? undefined : { user, password };
  const isAsked = url.searchParams.get('requireTLS') === 'true';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTls: isAsked || (login !== undefined && !LOOPBACK.test(url.hostname)),
    login,
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
