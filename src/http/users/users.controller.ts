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
import { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiPage, ApiTextQuery } from '../shapes/described-queries.js';
import { ApiEmptyResponse } from '../shapes/empty.response.js';
import { Fails } from '../shapes/openapi.js';
import {
  identifier,
  page,
  requiredCodeQuery,
  textQuery,
  type Query,
} from '../shapes/parameters.js';
import { Presentation } from './presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { personalFieldsOfUser } from '../writing/personal-fields.js';
import { IdentifiedUserRequest, userFieldsOf } from './user.request.js';
import {
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
    private readonly codes: ReferralCodeQueries,
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
      respond: (written) => this.presentation.written(call.scope, written, { account, userId }),
      personalFields: (written, user) => personalFieldsOfUser(written, userId, user),
    });
  }

  @Get('user')
  @Access('key')
  @ApiTextQuery('referralCode', { required: true })
  @ApiOkResponse({ type: UserResponse, description: 'The owner of the code, blocked or not' })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async byCode(@Call() call: Call, @QueryParameters() query: Query) {
    const code = requiredCodeQuery(query, 'referralCode');
    await this.gateway.readable(call, ['referral-codes', 'users']);
    const found = await this.codes.byCode(call.scope, code);
    if (found) await this.gateway.refuseUnreadable(found.accountRef);
    const owner =
      found && (await this.users.byPersons(call.scope, [found.person])).get(found.person);
    if (!owner) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    return this.presentation.user(call.scope, owner);
  }

  @Get('account/:accountId/user/:userId')
  @Access('key')
  @ApiOkResponse({ type: UserResponse })
  @Fails('USER_NOT_FOUND')
  async user(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
  ) {
    const accountRef = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    const id = identifier(userId, 'userId');
    await this.gateway.readable(call, ['users'], accountRef);
    const facts = await this.users.byUserId(call.scope, accountRef, id);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return this.presentation.user(call.scope, facts);
  }

  @Post('account/:accountId/user/:userId/block')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiEmptyResponse()
  @Fails('USER_NOT_FOUND', 'USER_ALREADY_BLOCKED')
  block(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
  ) {
    return this.setBlocked('BlockUser', call, accountId, userId);
  }

  @Post('account/:accountId/user/:userId/unblock')
  @HttpCode(200)
  @Access('key', { emptyBody: true })
  @ApiEmptyResponse()
  @Fails('USER_NOT_FOUND', 'USER_NOT_BLOCKED')
  unblock(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
  ) {
    return this.setBlocked('UnblockUser', call, accountId, userId);
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
      users: await this.presentation.userListItems(call.scope, items),
    };
  }

  private setBlocked(
    type: 'BlockUser' | 'UnblockUser',
    call: Call,
    accountId: string,
    userId: string,
  ) {
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    return this.gateway.write({
      call,
      account,
      command: { type, userId: identifier(userId, 'userId') },
      respond: () => ({}),
    });
  }
}
