import type { IncomingHttpHeaders } from 'node:http';
import { PassportStrategy } from '@nestjs/passport';
import jwt from 'jsonwebtoken';
import { Strategy } from 'passport-jwt';
import type { TokenSecret } from '../../tenants/token-secrets.js';
import { unauthorized } from '../edge/api-error.js';
import { isPlainObject } from '../shapes/request-shape.js';
import { subjectOf, type Claims, type TokenRules, type TokenSubject } from './user-token.js';

/** Tolerance for clocks of tenants' servers, in `exp` and `nbf`. */
const CLOCK_TOLERANCE_SECONDS = 60;

/** Verifies the token of a request; undefined: invalid. */
export type VerifyToken = (
  secrets: readonly TokenSecret[],
  rules: TokenRules,
) => Promise<{ readonly subject: TokenSubject; readonly signedWith: TokenSecret } | undefined>;

/** Passed to passport as its request, so that its members stay off Fastify's request. */
export interface Credentials<Holder extends object = object> {
  readonly headers: IncomingHttpHeaders;
  readonly findKey: (key: string) => Promise<Holder | undefined>;
  /** Finds the token's user; undefined: invalid. Without this function, tokens are ignored. */
  readonly findUser?: (verify: VerifyToken) => Promise<Holder | undefined>;
  /** Set by the guard; false: not authenticated. */
  holder?: Holder | false;
}

/** The request of one verification. */
interface Signature extends Pick<TokenSecret, 'secret'> {
  readonly token: string;
}

/**
 * User tokens. passport-jwt verifies one secret, and a tenant has several, so it runs once per
 * secret. The answer never contains the reason why a token is invalid.
 */
export class UserTokenStrategy extends PassportStrategy(Strategy, 'user-token') {
  constructor() {
    super({
      algorithms: ['HS256'],
      jwtFromRequest: ({ token }: Signature) => token,
      secretOrKeyProvider: secretOf,
      jsonWebTokenOptions: { clockTolerance: CLOCK_TOLERANCE_SECONDS },
    });
  }

  override authenticate({ headers, findUser }: Credentials): void {
    const tokens = tokensIn(headers);
    if (findUser === undefined || tokens.length === 0) return this.fail();
    findUser((secrets, rules) => this.verify(tokens, secrets, rules)).then(
      (holder) => (holder === undefined ? this.error(unauthorized('RS032')) : this.success(holder)),
      (error: unknown) => this.error(error),
    );
  }

  validate(claims: unknown): Claims | null {
    return isPlainObject(claims) ? claims : null;
  }

  /** @param tokens two different ones are invalid. */
  async verify(
    [token = '', ...others]: readonly string[],
    secrets: readonly TokenSecret[],
    rules: TokenRules,
  ): ReturnType<VerifyToken> {
    if (others.some((other) => other !== token)) return undefined;
    for (const signedWith of secrets) {
      const claims = await this.claimsOf({ token, secret: signedWith.secret });
      const subject = claims && subjectOf(claims, rules);
      if (subject !== undefined) return { subject, signedWith };
    }
    return undefined;
  }

  /** Runs the library as passport does, on an object of its own. */
  private async claimsOf(signature: Signature): Promise<Claims | undefined> {
    try {
      return await new Promise((resolve, reject) => {
        const outcome = { success: resolve, fail: reject, error: reject };
        const run = Object.assign(Object.create(this) as object, outcome);
        super.authenticate.call(run, signature);
      });
    } catch {
      return undefined;
    }
  }
}

/** `crit` requires extensions that the library does not implement (RFC 7515, 4.1.11). */
function secretOf(
  { token, secret }: Signature,
  _token: string,
  done: (error: Error | null, secret?: TokenSecret['secret']) => void,
): void {
  const hasCrit = jwt.decode(token, { complete: true })?.header.crit !== undefined;
  if (hasCrit) done(new Error('crit is not supported'));
  else done(null, secret);
}

/** The non-empty tokens of a request. */
export function tokensIn(headers: IncomingHttpHeaders): readonly string[] {
  const own = headers['x-saasquatch-user-token'];
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(headers.authorization?.trim() ?? '');
  return [...(own ? [own].flat() : []), ...(bearer ? [bearer[1] ?? ''] : [])];
}
