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
import { ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger';
import { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import type { UserFields } from '../../domain/account/users/user-grant.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { ApiFieldSelection, ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { fieldSelection, identifier, requiredCodeQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from './presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { personalFieldsOfUser } from '../writing/personal-fields.js';
import { grantedFields } from './granted-fields.js';
import { userFieldsOf, UserRequest } from './user.request.js';
import {
  PublicUserResponse,
  SelectedUserResponse,
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
    private readonly users: UserQueries,
    private readonly codes: ReferralCodeQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @Put(USER_PATH)
  @Access('user-open', { token: 'write', counted: 'create-user' })
  @ApiFieldSelection(SELECTABLE)
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
  async user(
    @Call() call: Call,
    @Param() { accountId, userId }: UserPath,
    @QueryParameters() query: Query,
  ) {
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    const id = identifier(userId, 'userId');
    const selection = fieldSelection(query, USER_FIELDS);
    await this.gateway.readable(call, ['users'], account);
    const facts = await this.users.byUserId(call.scope, account, id);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return this.presentation.selectedUser(call.scope, facts, selection);
  }

  @Get('open/user')
  @Access('public-open', { counted: 'user-by-code' })
  @ApiTextQuery('referralCode', { required: true })
  @ApiOkResponse({ type: PublicUserResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async byCode(@Call() call: Call, @QueryParameters() query: Query) {
    const code = requiredCodeQuery(query, 'referralCode');
    await this.gateway.readable(call, ['referral-codes', 'users']);
    const found = await this.codes.byCode(call.scope, code);
    if (found) await this.gateway.refuseUnreadable(found.accountRef);
    // A blocked user's code looks like an unknown one.
    const owner =
      found && !found.ownerBlocked
        ? (await this.users.byPersons(call.scope, [found.person])).get(found.person)
        : undefined;
    if (!owner) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    return this.presentation.publicUser(call.scope, owner);
  }

  private write(call: Call, path: UserPath, { query, body, mustBeNew }: UserWrite) {
    const accountId = identifier(path.accountId, 'accountId');
    const userId = identifier(path.userId, 'userId');
    checkSameIds({ accountId, userId }, body);
    const selection = fieldSelection(query, USER_FIELDS);
    const account = this.names.accountRef(call.scope, accountId);
    const granted: UserFields | undefined = call.token && grantedFields(call.token.fields);
    const fields = { userId, granted, ...userFieldsOf(body) };
    return this.gateway.write({
      call,
      account,
      command: {
        type: 'UpsertUser',
        ...fields,
        openAccount: accountId,
        cookies: body.cookies,
        mustBeNew,
        seen: call.seen,
      },
      check: granted && { type: 'CheckUserFields', ...fields },
      respond: (written) =>
        this.presentation.written(call.scope, written, { account, userId }, selection),
      status: mustBeNew ? 201 : 200,
      personalFields: (written, user) => personalFieldsOfUser(written, userId, user),
    });
  }
}

interface UserPath {
  readonly accountId: string;
  readonly userId: string;
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
