import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ReferralCodeQueries } from '../../projections/referral-codes/queries.js';
import { CodeOwners } from '../command-handling/code-owners.js';
import { KeyedNames } from '../privacy/keyed-names.js';
import { ApiError } from './api-error.js';
import { Access, Caller, TENANT_PATH } from './edge/access.js';
import { Ledger } from './ledger.js';
import { Fails } from './openapi.js';
import { identifier, referralCode } from './parameters.js';
import { Presentation } from './presentation.js';
import { CodeDetailsResponse } from './responses/code-details.response.js';

@ApiTags('Referral Code')
@Controller(TENANT_PATH)
export class ReferralCodesController {
  constructor(
    private readonly ledger: Ledger,
    private readonly codes: ReferralCodeQueries,
    private readonly owners: CodeOwners,
    private readonly presentation: Presentation,
    private readonly names: KeyedNames,
  ) {}

  @ApiOperation({ summary: 'Whose code it is, and what it earns the referred side' })
  @Get('code/:code')
  @Access('key')
  @ApiOkResponse({ type: CodeDetailsResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async details(@Req() request: FastifyRequest, @Caller() { scope }: Caller, @Param('code') code: string) {
    const wanted = referralCode(code);
    await this.ledger.readable(request, ['referral-codes']);
    const found = await this.codes.byCode(scope, wanted);
    // A blocked user's code looks like one that does not exist.
    if (!found || found.ownerBlocked) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
    const owner = { firstName: found.ownerFirstName, lastName: found.ownerLastName };
    return this.presentation.codeDetails(scope, { code: found.code, dateCreated: found.dateCreated, programId: found.programId, owner });
  }

  @ApiOperation({ summary: 'Apply a code: the account and user are referred by its owner' })
  @Post('open/code/:referralCode/account/:accountId/user/:userId')
  @HttpCode(200)
  @Access('key-open', { emptyBody: true })
  @ApiOkResponse({ type: CodeDetailsResponse, description: 'The account is referred by the owner of the code' })
  @Fails('REFERRAL_CODE_NOT_FOUND', 'USER_NOT_FOUND', 'SELF_REFERRAL', 'ALREADY_REFERRED', 'NOT_ATTRIBUTABLE', 'NOT_REFERABLE')
  apply(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Caller() { scope }: Caller,
    @Param('referralCode') code: string,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
  ) {
    const account = this.names.accountRef(scope, identifier(accountId, 'accountId'));
    // Also what cannot be a code is looked up, and found nowhere: a refusal like that of any unknown code.
    const present = async () => {
      const found = await this.owners.find(scope, code);
      if (!found) throw new ApiError('REFERRAL_CODE_NOT_FOUND');
      const { firstName = null, lastName = null } = found.user.profile ?? {};
      return this.presentation.codeDetails(scope, {
        ...{ code: found.code, dateCreated: found.since, programId: found.programId },
        owner: { firstName, lastName },
      });
    };
    const asked = { type: 'ApplyCode', userId: identifier(userId, 'userId'), code } as const;
    // The answer tells of the owner of the code, not of who used it.
    return this.ledger.write(request, reply, account, asked, present, 200, ({ state }) =>
      state.attribution ? [{ subject: state.attribution.codeSubject, members: ['code', 'referrerName'] }] : [],
    );
  }
}
