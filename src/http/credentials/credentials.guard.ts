import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard } from '@nestjs/passport';
import { ApiKeyStrategy } from './api-key.strategy.js';
import { UserTokenStrategy, type Credentials } from './user-token.strategy.js';

/**
 * Tries a token first, then a key. The edge runs it in its own hook: guards of Nest run after the
 * body was parsed, and credentials are checked before.
 */
export class CredentialsGuard extends AuthGuard(['user-token', 'api-key']) {
  constructor() {
    super({ property: 'holder' });
    // The strategies register themselves in passport's global register; they hold no state.
    new UserTokenStrategy();
    new ApiKeyStrategy({});
  }

  /**
   * Undefined: no key, or a wrong one.
   * @param credentials of this attempt; passport adds members.
   * @throws {ApiError} UNAUTHORIZED for an invalid token.
   */
  async holderOf<Holder extends object>(
    credentials: Credentials<Holder>,
  ): Promise<Holder | undefined> {
    await this.canActivate(new ExecutionContextHost([credentials]));
    return credentials.holder || undefined;
  }

  override handleRequest<Holder>(error: unknown, holder: Holder): Holder {
    if (error) throw error;
    return holder;
  }
}
