import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard } from '@nestjs/passport';
import { ApiKeyStrategy } from './api-key.strategy.js';
import { UserTokenStrategy, type Credentials } from './user-token.strategy.js';

/**
 * Tries a token, then a key. Called by the edge, because Nest's guards run after the body is
 * parsed, and credentials are checked before.
 */
export class CredentialsGuard extends AuthGuard(['user-token', 'api-key']) {
  constructor() {
    super({ property: 'holder' });
    // The strategies register themselves in passport's global registry; they hold no state.
    new UserTokenStrategy();
    new ApiKeyStrategy({});
  }

  /**
   * Undefined: a missing or wrong key. @param credentials passport adds members to them.
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
