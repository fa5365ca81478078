import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { AuthGuard } from '@nestjs/passport';
import { ApiKeyStrategy } from './api-key.strategy.js';
import type { Credentials } from './credentials.js';
import { UserTokenStrategy } from './user-token.strategy.js';

/**
 * Asks a token first, then a key. The edge runs it in its own hook: guards of Nest's run after the
 * body was parsed, credentials are checked before.
 */
export class CredentialsGuard extends AuthGuard(['user-token', 'api-key']) {
  constructor() {
    super({ property: 'holder' });
    // They enter themselves in passport's register of the process; they hold nothing.
    new UserTokenStrategy();
    new ApiKeyStrategy();
  }

  /**
   * Undefined: no key, or a wrong one.
   * @param credentials of this attempt alone. A copy made by spreading costs five times the rest:
   *   passport adds members, and such a copy takes them slowly.
   * @throws {ApiError} UNAUTHORIZED for a token that is no good.
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
