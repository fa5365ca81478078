import { ownMember } from '../../own-member.js';
import { REFERRAL_CODE } from '../../referral-code.js';

/** Longer cookies are malformed. */
const COOKIES_MAX = 8_192;
/** Each code costs a look-up. */
const CODES_MAX = 100;
const DOMAIN = 'app.referralsaasquatch.com';

interface CookieContext {
  /** The alias of the tenant. */
  readonly alias: string;
  readonly defaultProgramId: string;
  readonly now: number;
}

/** Unexpired codes, the default program's first. @param cookies Base64URL of JSON. */
export function codesInCookies(
  cookies: string | undefined,
  { alias, defaultProgramId, now }: CookieContext,
): readonly string[] {
  if (!cookies) return [];
  const ofTenant = member(member(contentOf(cookies), DOMAIN), `${alias}_CODE`);
  const codes = member(ofTenant, 'codes');
  if (typeof codes !== 'object' || codes === null) return [];
  const expiries = member(ofTenant, 'codesExp');
  const isDefault = (program: string): number => (program === defaultProgramId ? 0 : 1);
  return Object.entries(codes)
    .toSorted(([a], [b]) => isDefault(a) - isDefault(b))
    .map(([, code]: [string, unknown]) => code)
    .filter((code) => typeof code === 'string')
    .filter((code) => REFERRAL_CODE.test(code.trim()))
    .filter((code) => Number(member(expiries, code) ?? Infinity) > now)
    .slice(0, CODES_MAX)
    .map((code) => code.trim());
}

function contentOf(cookies: string): unknown {
  if (cookies.length > COOKIES_MAX) return undefined;
  try {
    return JSON.parse(Buffer.from(cookies, 'base64url').toString()) as unknown;
  } catch {
    return undefined;
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? ownMember(value as Readonly<Record<string, unknown>>, name)
    : undefined;
