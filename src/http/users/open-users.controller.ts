import { Body, Controller, Get, HttpCode, Param, Post, Put, Query as QueryParameters, Req, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ReferralCodeQueries } from '../../../projections/referral-codes/queries.js';
import { UserQueries } from '../../../projections/users/queries.js';
import type { UserFields } from '../../domain/account/user-grant.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, Caller, TENANT_PATH } from '../edge/access.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { seenOf } from '../edge/caller-origin.js';
import { ApiFieldSelection, ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { fieldSelection, identifier, referralCode, requiredTextQuery, type Query } from '../shapes/parameters.js';
import { Presentation } from '../shapes/presentation.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { namedInUser } from '../writing/named-in-answers.js';
import { grantedFields } from './granted-fields.js';
import { userFieldsOf, UserRequest } from './user.request.js';
import { PublicUserResponse, SelectedUserResponse, USER_FIELDS, WrittenSelectedUserResponse } from './user.response.js';

const UPSERT_FAILS = [
  'REFERRAL_CODE_TAKEN',
  'TOO_MANY_USERS',
  'DO_NOT_TRACK',
  'PAYMENT_PROVIDER_ID_SET',
  'PAYMENT_PROVIDER_ID_USED',
] as const;

const USER_PATH = 'open/account/:accountId/user/:userId';

/** Users as client applications write and read them, with their user's token or a server's key. */
@ApiTags('Open Endpoint')
@Controller(TENANT_PATH)
export class OpenUsersController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly users: UserQueries,
    private readonly codes: ReferralCodeQueries,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @ApiOperation({
    summary: 'Create or update a user, and the account if it is not there; members left out keep what is stored, null clears',
  })
  @Put(USER_PATH)
  @Access('user-open', { token: 'write', counted: 'create-user' })
  @ApiFieldSelection()
  @ApiOkResponse({ type: WrittenSelectedUserResponse })
  @Fails(...UPSERT_FAILS)
  upsert(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Caller,
    @Param() { accountId, userId }: UserPath,
    @QueryParameters() query: Query,
    @Body() body: UserRequest,
  ) {
    return this.write(request, reply, caller, { accountId, userId }, query, body, { mustBeNew: false });
  }

  @ApiOperation({ summary: 'Create a user, and the account if it is not there' })
  @Post(USER_PATH)
  @HttpCode(201)
  @Access('user-open', { token: 'write', counted: 'create-user' })
  @ApiFieldSelection()
  @ApiCreatedResponse({ type: WrittenSelectedUserResponse })
  @Fails('USER_EXISTS', ...UPSERT_FAILS)
  create(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() caller: Caller,
    @Param() { accountId, userId }: UserPath,
    @QueryParameters() query: Query,
    @Body() body: UserRequest,
  ) {
    return this.write(request, reply, caller, { accountId, userId }, query, body, { mustBeNew: true });
  }

  @ApiOperation({ summary: 'A user with share links' })
  @Get(USER_PATH)
  @Access('user-open', { token: 'read', counted: 'look-up-user' })
  @ApiFieldSelection()
  @ApiOkResponse({ type: SelectedUserResponse })
  @Fails('USER_NOT_FOUND')
  async user(
    @Req() request: FastifyRequest,
    @Caller() { scope }: Caller,
    @Param() { accountId, userId }: UserPath,
    @QueryParameters() query: Query,
  ) {
    const account = this.names.accountRef(scope, identifier(accountId, 'accountId'));
    const id = identifier(userId, 'userId');
    const selection = fieldSelection(query, USER_FIELDS);
    await this.gateway.readable(request, ['users']);
    const facts = await this.users.byUserId(scope, account, id);
    if (!facts) throw new ApiError('USER_NOT_FOUND');
    return this.presentation.selectedUser(scope, facts, selection);
  }

  @ApiOperation({ summary: 'What everybody may know of the user who owns a code' })
  @Get('open/user')
  @Access('anyone-open', { counted: 'user-by-code' })
  @ApiTextQuery('referralCode', { required: true })
  @ApiOkResponse({ type: PublicUserResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async byCode(@Req() request: FastifyRequest, @Caller() { scope }: Caller, @QueryParameters() query: Query) {
    const code = referralCode(requiredTextQuery(query, 'referralCode'));
    await this.gateway.readable(request, ['referral-codes', 'users']);
    const found = await this.codes.byCode(scope, code);
    // A blocked user's code looks like one that does not exist.
    const owner = found && !found.ownerBlocked ? (await this.users.byPersons(scope, [found.person])).get(found.person) : undefined;
    if (!owner) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    return this.presentation.publicUser(scope, owner);
  }

  private write(
    request: FastifyRequest,
    reply: FastifyReply,
    { scope, token }: Caller,
    path: UserPath,
    query: Query,
    body: UserRequest,
    { mustBeNew }: { readonly mustBeNew: boolean },
  ) {
    const accountId = identifier(path.accountId, 'accountId');
    const userId = identifier(path.userId, 'userId');
    checkSameIds({ accountId, userId }, body);
    const selection = fieldSelection(query, USER_FIELDS);
    const account = this.names.accountRef(scope, accountId);
    const granted: UserFields | undefined = token && grantedFields(token.fields);
    return this.gateway.write({
      request,
      reply,
      account,
      command: { type: 'UpsertUser', userId, openAccount: accountId, mustBeNew, granted, seen: seenOf(request), ...userFieldsOf(body) },
      respond: (written) => this.presentation.written(scope, written, account, userId, selection),
      status: mustBeNew ? 201 : 200,
      personalFields: (written, user) => namedInUser(written, userId, user),
    });
  }
}

interface UserPath {
  readonly accountId: string;
  readonly userId: string;
}

/** @throws {ApiError} BAD_REQUEST when the body names somebody else than the path. */
function checkSameIds({ accountId, userId }: UserPath, body: UserRequest): void {
  const others = [
    ...(body.id === undefined || body.id === userId ? [] : ['id must be the one in the path']),
    ...(body.accountId === undefined || body.accountId === accountId ? [] : ['accountId must be the one in the path']),
  ];
  if (others.length > 0) throw badRequest(...others);
}
