import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { CodeOwners } from '../../command-handling/needs/code-owners.js';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { Call } from '../credentials/call.js';
import { Fails } from '../shapes/openapi.js';
import { identifier } from '../shapes/parameters.js';
import { CommandGateway, type Written } from '../writing/command-gateway.js';
import { personalFieldsOfCode } from '../writing/personal-fields.js';
import { AppliedCodeResponse, CodeDetailsResponse } from './code-details.response.js';
import { CodeLookUps } from './code-look-ups.js';

@Controller(TENANT_PATH)
export class ReferralCodesController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly codes: CodeLookUps,
    private readonly owners: CodeOwners,
    private readonly names: KeyedNames,
  ) {}

  @Get('code/:code')
  @Access('key')
  @ApiOkResponse({ type: CodeDetailsResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  details(@Call() call: Call, @Param('code') code: string) {
    return this.codes.details(call, code);
  }

  @Get('open/code/:code')
  @Access('public-open', { counted: 'code' })
  @ApiOkResponse({ type: CodeDetailsResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  openDetails(@Call() call: Call, @Param('code') code: string) {
    return this.codes.details(call, code);
  }

  @Post('open/code/:code/account/:accountId/user/:userId')
  @HttpCode(200)
  @Access('user-open', { token: 'write', counted: 'apply-code', emptyBody: true })
  @ApiOkResponse({
    type: AppliedCodeResponse,
    description: 'The account is referred by the owner of the code',
  })
  @Fails(
    'REFERRAL_CODE_NOT_FOUND',
    'USER_NOT_FOUND',
    'SELF_REFERRAL',
    'ALREADY_REFERRED',
    'NOT_ATTRIBUTABLE',
    'NOT_REFERABLE',
  )
  apply(
    @Call() call: Call,
    @Param('code') typed: string,
    @Param('accountId') accountId: string,
    @Param('userId') userId: string,
  ) {
    const code = typed.trim();
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    // An invalid code is looked up too, so that the refusal is that of an unknown code.
    const present = async ({ state }: Written) => {
      const found = await this.owners.find(call.scope, code);
      // Deleted meanwhile: the referral stays, and the answer contains no name.
      if (!found)
        return this.codes.applied(
          call.tenant,
          await this.owners.reservedAt(call.scope, code),
          state.attribution?.programId,
        );
      return this.codes.shown(call.tenant, {
        code: found.code,
        dateCreated: found.since,
        programId: found.programId,
        owner: found.referrer.likeness,
      });
    };
    const asked = {
      type: 'ApplyCode',
      userId: identifier(userId, 'userId'),
      code,
      seen: call.seen,
    } as const;
    return this.gateway.write({
      call,
      account,
      command: asked,
      respond: present,
      personalFields: personalFieldsOfCode,
    });
  }
}
