import { Body, Controller, Get, HttpCode, Param, Post, Query as Parameters } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { KeyedNames } from '../../privacy/keyed-names.js';
import { Access, TENANT_PATH } from '../edge/access.js';
import { ApiError } from '../edge/api-error.js';
import { Call } from '../credentials/call.js';
import { CodeLookUps } from '../referral-codes/code-look-ups.js';
import { ApiTextQuery } from '../shapes/described-queries.js';
import { Fails } from '../shapes/openapi.js';
import { codeQuery, identifier, type Query } from '../shapes/parameters.js';
import { CommandGateway } from '../writing/command-gateway.js';
import { noPersonalFields } from '../writing/personal-fields.js';
import { AccountDiscounts } from './account-discounts.js';
import { DiscountRequest } from './discount.request.js';
import {
  DiscountOfAccountResponse,
  discountOfCodeJson,
  DiscountOfCodeResponse,
} from './discount.response.js';

@Controller(TENANT_PATH)
export class DiscountsController {
  constructor(
    private readonly gateway: CommandGateway,
    private readonly codes: CodeLookUps,
    private readonly discounts: AccountDiscounts,
    private readonly names: KeyedNames,
  ) {}

  @Get('discount/:code')
  @Access('key')
  @ApiOkResponse({ type: DiscountOfCodeResponse })
  @Fails('REFERRAL_CODE_NOT_FOUND')
  async ofCode(@Call() call: Call, @Param('code') code: string) {
    return discountOfCodeJson(await this.codes.details(call, code));
  }

  @Get('account/:accountId/discount')
  @Access('key')
  @ApiTextQuery('couponCode')
  @ApiOkResponse({ type: DiscountOfAccountResponse })
  @Fails('ACCOUNT_NOT_FOUND')
  async ofAccount(
    @Call() call: Call,
    @Param('accountId') accountId: string,
    @Parameters() query: Query,
  ) {
    const account = this.names.accountRef(call.scope, identifier(accountId, 'accountId'));
    const couponCode = codeQuery(query, 'couponCode');
    await this.gateway.readable(call, ['accounts', 'reward-balances', 'referral-codes'], account);
    const discount = await this.discounts.find(call, account, couponCode);
    if (!discount) throw new ApiError('ACCOUNT_NOT_FOUND');
    return discount;
  }

  @Post('discount')
  @HttpCode(200)
  @Access('key')
  @ApiOkResponse({ description: 'Done; the body is empty' })
  @Fails(
    'ACCOUNT_NOT_FOUND',
    'REFERRAL_CODE_NOT_FOUND',
    'PAYMENT_PROVIDER_ID_SET',
    'PAYMENT_PROVIDER_ID_USED',
    'SELF_REFERRAL',
    'NOT_ATTRIBUTABLE',
    'NOT_REFERABLE',
  )
  apply(@Call() call: Call, @Body() { accountId, paymentProviderId, couponCode }: DiscountRequest) {
    return this.gateway.write({
      call,
      account: this.names.accountRef(call.scope, accountId),
      command: { type: 'ApplyDiscount', code: couponCode, paymentProviderId },
      respond: () => undefined,
      personalFields: noPersonalFields,
    });
  }
}
