import { randomUUID } from 'node:crypto';
import { Body, Controller, Put } from '@nestjs/common';
import { ApiBody, ApiOkResponse } from '@nestjs/swagger';
import type { Scope } from '../../domain/scope.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { limitNewUsers } from '../limits/call-limit.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Fails } from '../shapes/openapi.js';
import { Presentation } from './presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { keyOfCaller } from '../writing/keyed-request.js';
import { personalFieldsOfUser } from '../writing/personal-fields.js';
import { grantedFields } from './granted-fields.js';
import { CookieUserRequest, userFieldsOf } from './user.request.js';
import { CookieUserResponse, USER_FIELDS } from '../../presenting/user.response.js';

/** Visitors identified only by a cookie, with their own account and user. */
@Controller(TENANT_PATH)
export class CookieUsersController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
    private readonly limits: RateLimits,
  ) {}

  @Put('open/user/cookie_user')
  @Access('visitor-open', { counted: 'create-user' })
  @ApiBody({ type: CookieUserRequest, required: false })
  @ApiOkResponse({ type: CookieUserResponse })
  @Fails(
    'FORBIDDEN',
    'REFERRAL_CODE_TAKEN',
    'DO_NOT_TRACK',
    'PAYMENT_PROVIDER_ID_SET',
    'PAYMENT_PROVIDER_ID_USED',
  )
  async upsert(@Call() call: Call, @Body() body: CookieUserRequest) {
    const { scope, token } = call;
    const cookieId = body.cookieId ?? this.newCookieId(call);
    const { accountId, userId } = this.idsOf(scope, cookieId);
    // Only the body shows whether the user is new.
    await limitNewUsers(call, { accountId, userId }, this.limits);
    const account = this.names.accountRef(scope, accountId);
    const granted = token && grantedFields(token.fields);
    const { changes, ...others } = userFieldsOf(body);
    const fields = { userId, granted, ...others, changes: { ...changes, cookieId } };
    return this.gateway.write({
      call,
      account,
      command: { type: 'UpsertUser', ...fields, openAccount: accountId, seen: call.seen },
      check: granted && { type: 'CheckUserFields', ...fields },
      respond: (written) =>
        this.presentation.written(call, written, { account, userId }, USER_FIELDS.standard),
      personalFields: (written, user) => personalFieldsOfUser(written, userId, user),
    });
  }

  /** The same visitor for a repeated call with its idempotency key. */
  private newCookieId(call: Call): string {
    const key = keyOfCaller(call, this.names);
    return key === undefined ? randomUUID() : this.names.digest('cookie', key).slice(0, 32);
  }

  /** Derived from the cookie's id, which saves a look-up; one id does not reveal the other. */
  private idsOf(
    { tenant, mode }: Scope,
    cookieId: string,
  ): { readonly accountId: string; readonly userId: string } {
    const made = (kind: string): string =>
      this.names.digest(kind, tenant, mode, cookieId).slice(0, 32);
    return { accountId: made('cookie-account'), userId: made('cookie-user') };
  }
}
