import { PLAIN } from '../../foundation/outside-text.js';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { UserQueries } from '../../../projections/users/queries.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { ApiPage, ApiTextQuery } from '../shapes/described-queries.js';
import { ApiEmptyResponse } from '../shapes/empty.response.js';
import { Fails } from '../shapes/openapi.js';
import { page, textQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from './presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { personalFieldsOfUser } from '../writing/personal-fields.js';
import { UserLookUps, type UserPath } from './user-look-ups.js';
import { IdentifiedUserRequest, userFieldsOf } from './user.request.js';
import {
  userListItemJson,
  UserListResponse,
  UserResponse,
  WrittenUserResponse,
} from '../../presenting/user.response.js';

const UPSERT_FAILS = [
  ...(['ACCOUNT_NOT_FOUND', 'REFERRAL_CODE_TAKEN', 'TOO_MANY_USERS', 'DO_NOT_TRACK'] as const),
  ...(['PAYMENT_PROVIDER_ID_SET', 'PAYMENT_PROVIDER_ID_USED'] as const),
] as const;
@Controller(TENANT_PATH)
export class UsersController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserQueries,
    private readonly lookUps: UserLookUps,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @Post('user')
  @HttpCode(200)
  @Access('key')
  @ApiOkResponse({ type: WrittenUserResponse })
  @Fails(...UPSERT_FAILS)
  upsert(@Call() call: Call, @Body() body: IdentifiedUserRequest) {
    const { id: userId, accountId } = body;
    const account = this.names.accountRef(call.scope, accountId);
    return this.gateway.write({
      call,
      account,
      command: { type: 'UpsertUser', userId, ...userFieldsOf(body), cookies: body.cookies },
      respond: (written) => this.presentation.written(call, written, { account, userId }),
      personalFields: (written, user) => personalFieldsOfUser(written, userId, user),
    });
  }

  @Get('user')
  @Access('key')
  @ApiTextQuery('referralCode', { required: true })
  @ApiOkResponse({ type: UserResponse, description: 'The owner of the code, blocked or not' })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async byCode(@Call() call: Call, @QueryParameters() query: Query) {
    return this.presentation.user(call, await this.lookUps.byCode(call, query, true));
  }

  @Get('account/:accountId/user/:userId')
  @Access('key')
  @ApiOkResponse({ type: UserResponse })
  @Fails('USER_NOT_FOUND')
  async user(@Call() call: Call, @Param() path: UserPath) {
    return this.presentation.user(call, await this.lookUps.byPath(call, path));
  }

  @Post('account/:accountId/user/:userId/block')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiEmptyResponse()
  @Fails('USER_NOT_FOUND', 'USER_ALREADY_BLOCKED')
  block(@Call() call: Call, @Param() path: UserPath) {
    return this.setBlocked('BlockUser', call, path);
  }

  @Post('account/:accountId/user/:userId/unblock')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiEmptyResponse()
  @Fails('USER_NOT_FOUND', 'USER_NOT_BLOCKED')
  unblock(@Call() call: Call, @Param() path: UserPath) {
    return this.setBlocked('UnblockUser', call, path);
  }

  @Get('users')
  @Access('key')
  @ApiTextQuery('query', { pattern: PLAIN })
  @ApiPage()
  @ApiOkResponse({ type: UserListResponse, description: 'Newest first' })
  async list(@Call() call: Call, @QueryParameters() query: Query) {
    const wanted = { ...page(query), query: textQuery(query, 'query') };
    await this.gateway.readable(call, ['users']);
    const { totalCount, items } = await call.aside(() => this.users.list(call.scope, wanted));
    return {
      count: items.length,
      totalCount,
      users: items.map((user) => userListItemJson(user, call.tenant.defaultProgramId)),
    };
  }

  private setBlocked(type: 'BlockUser' | 'UnblockUser', call: Call, path: UserPath) {
    const { account, userId } = this.lookUps.named(call, path);
    return this.gateway.write({ call, account, command: { type, userId }, respond: () => ({}) });
  }
}
