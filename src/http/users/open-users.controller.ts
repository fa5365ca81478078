import {
  Body,
  Controller,
  Get,
  HttpCode,
  Param,
  Post,
  Put,
  Query as QueryParameters,
} from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import type { UserFields } from '../../domain/account/users/user-grant.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { badRequest } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiFieldSelection, ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { fieldSelection, type Query } from '../shapes/parameters.js';
import { Presentation } from './presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { personalFieldsOfUser } from '../writing/personal-fields.js';
import { grantedFields } from './granted-fields.js';
import { UserLookUps, type UserPath } from './user-look-ups.js';
import { userFieldsOf, UserRequest } from './user.request.js';
import {
  PublicUserResponse,
  SelectedUserResponse,
  selectedUserJson,
  USER_FIELDS,
  WrittenSelectedUserResponse,
} from '../../presenting/user.response.js';

const SELECTABLE = [...USER_FIELDS.standard, ...USER_FIELDS.extra];
const UPSERT_FAILS = [
  'REFERRAL_CODE_TAKEN',
  'TOO_MANY_USERS',
  'DO_NOT_TRACK',
  'PAYMENT_PROVIDER_ID_SET',
  'PAYMENT_PROVIDER_ID_USED',
] as const;

const USER_PATH = 'open/account/:accountId/user/:userId';
@Controller(TENANT_PATH)
export class OpenUsersController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserLookUps,
    private readonly presentation: Presentation,
  ) {}

  @Put(USER_PATH)
  @Access('user-open', { token: 'write', counted: 'create-user' })
  @ApiFieldSelection(SELECTABLE)
  @ApiBody({ type: UserRequest, required: false })
  @ApiOkResponse({ type: WrittenSelectedUserResponse })
  @Fails(...UPSERT_FAILS)
  upsert(
    @Call() call: Call,
    @Param() path: UserPath,
    @QueryParameters() query: Query,
    @Body() body: UserRequest,
  ) {
    return this.write(call, path, { query, body, mustBeNew: false });
  }

  @Post(USER_PATH)
  @HttpCode(201)
  @Access('user-open', { token: 'write', counted: 'create-user' })
  @ApiFieldSelection(SELECTABLE)
  @ApiBody({ type: UserRequest, required: false })
  @ApiCreatedResponse({ type: WrittenSelectedUserResponse })
  @Fails('USER_EXISTS', ...UPSERT_FAILS)
  create(
    @Call() call: Call,
    @Param() path: UserPath,
    @QueryParameters() query: Query,
    @Body() body: UserRequest,
  ) {
    return this.write(call, path, { query, body, mustBeNew: true });
  }

  @Get(USER_PATH)
  @Access('user-open', { token: 'read', counted: 'look-up-user' })
  @ApiFieldSelection(SELECTABLE)
  @ApiOkResponse({ type: SelectedUserResponse })
  @Fails('USER_NOT_FOUND')
  async user(@Call() call: Call, @Param() path: UserPath, @QueryParameters() query: Query) {
    const selection = fieldSelection(query, USER_FIELDS);
    const facts = await this.users.byPath(call, path);
    return selectedUserJson(this.presentation.user(call, facts), facts, selection);
  }

  @Get('open/user')
  @Access('public-open', { counted: 'user-by-code' })
  @ApiTextQuery('referralCode', { required: true })
  @ApiOkResponse({ type: PublicUserResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async byCode(@Call() call: Call, @QueryParameters() query: Query) {
    return this.presentation.publicUser(call, await this.users.byCode(call, query, false));
  }

  private write(call: Call, path: UserPath, { query, body, mustBeNew }: UserWrite) {
    const { account, userId } = this.users.named(call, path);
    checkSameIds(path, body);
    const selection = fieldSelection(query, USER_FIELDS);
    const granted: UserFields | undefined = call.token && grantedFields(call.token.fields);
    const fields = { userId, granted, ...userFieldsOf(body) };
    return this.gateway.write({
      call,
      account,
      command: {
        type: 'UpsertUser',
        ...fields,
        openAccount: path.accountId,
        cookies: body.cookies,
        mustBeNew,
        seen: call.seen,
      },
      check: granted && { type: 'CheckUserFields', ...fields },
      respond: (written) =>
        this.presentation.written(call, written, { account, userId }, selection),
      status: mustBeNew ? 201 : 200,
      personalFields: (written, user) => personalFieldsOfUser(written, userId, user),
    });
  }
}

interface UserWrite {
  readonly query: Query;
  readonly body: UserRequest;
  readonly mustBeNew: boolean;
}

/** @throws {ApiError} BAD_REQUEST when body and path name different users. */
function checkSameIds({ accountId, userId }: UserPath, body: UserRequest): void {
  const others = [
    ...(body.id === undefined || body.id === userId ? [] : ['id must be the one in the path']),
    ...(body.accountId === undefined || body.accountId === accountId
      ? []
      : ['accountId must be the one in the path']),
  ];
  if (others.length > 0) throw badRequest(...others);
}
