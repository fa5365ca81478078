import type { IncomingHttpHeaders } from 'node:http';
import { PassportStrategy } from '@nestjs/passport';
import passportJwt, { type Signature } from 'passport-jwt';
import { callerAs, type Caller } from './caller.js';
import { unauthorized } from '../edge/challenge.js';
import type { Credentials, TokenCheck } from './credentials.js';
import { takesTokens } from './rights.js';
import {
  CLOCK_TOLERANCE_SECONDS,
  readUserToken,
  type TokenRules,
  type TokenSubject,
} from './user-token.js';

/**
 * User tokens. passport-jwt verifies with one secret, and a tenant has several: it runs once for
 * each. The answer never says why a token is invalid.
 */
export class UserTokenStrategy extends PassportStrategy(passportJwt.Strategy, 'user-token') {
  constructor() {
    super({
      algorithms: ['HS256'],
      jwtFromRequest: ({ token }) => token,
      secretOrKeyProvider: ({ secret }, _token, done) => done(null, secret),
      jsonWebTokenOptions: { clockTolerance: CLOCK_TOLERANCE_SECONDS },
    });
  }

  override authenticate({ headers, tokenCheck }: Credentials): void {
    const tokens = tokenCheck === undefined ? [] : tokensIn(headers);
    if (tokenCheck === undefined || tokens.length === 0) return this.fail();
    this.callerOf(tokens, tokenCheck).then(
      (caller) => (caller === undefined ? this.error(unauthorized('RS032')) : this.success(caller)),
      (error: unknown) => this.error(error),
    );
  }

  /** Checks signature, algorithm and times; `readUserToken` checks the claims. */
  validate(claims: object): object {
    return claims;
  }

  /**
   * The subject of a token and the secret that signed it; undefined: invalid. Every secret is tried
   * with a whole signature, so that each failure takes the same time.
   */
  async verify<S extends Pick<Signature, 'secret'>>(
    token: string,
    secrets: readonly S[],
    rules: TokenRules,
  ): Promise<{ readonly subject: TokenSubject; readonly signedWith: S } | undefined> {
    const { verifiable, subject } = readUserToken(token, rules);
    const signed = await Promise.all(
      secrets.map(({ secret }) => this.isSigned({ token: verifiable, secret })),
    );
    const signedWith = secrets[signed.indexOf(true)];
    return subject === undefined || signedWith === undefined ? undefined : { subject, signedWith };
  }

  /**
   * A token takes precedence over a key. Where tokens are not accepted, a valid one is refused like
   * an invalid one; two different tokens are invalid.
   */
  private callerOf(
    tokens: readonly string[],
    { access, tenant, tenants }: TokenCheck,
  ): Promise<Caller | undefined> {
    const [first = ''] = tokens;
    // A token that cannot be accepted is replaced by the empty token: its refusal takes as long as
    // any other.
    const token = takesTokens(access) && tokens.every((other) => other === first) ? first : '';
    return tenants.verifyToken(tenant, async (secrets, times) => {
      const rules = { tenant: tenant.alias, now: Date.now(), ...times };
      const verified = await this.verify(token, secrets, rules);
      if (verified === undefined) return undefined;
      const { subject, signedWith } = verified;
      const actor = { kind: 'user-token', id: signedWith.id } as const;
      return { ...callerAs(tenant, signedWith.mode, actor), token: subject };
    });
  }

  /** One run of the library, on an object of its own, as passport starts it. */
  private isSigned(signature: Signature): Promise<boolean> {
    return new Promise((resolve) => {
      const run = Object.assign(Object.create(this) as object, {
        success: () => resolve(true),
        fail: () => resolve(false),
        error: () => resolve(false),
      });
      super.authenticate.call(run, signature);
    });
  }
}

/** The tokens of a request, without empty headers. */
function tokensIn(headers: IncomingHttpHeaders): readonly string[] {
  const own = headers['x-saasquatch-user-token'];
  const bearer = /^bearer(?:\s+(.*))?$/is.exec(headers.authorization?.trim() ?? '');
  return [...(own ? [own].flat() : []), ...(bearer ? [bearer[1] ?? ''] : [])];
}
