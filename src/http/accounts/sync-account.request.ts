import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
  type ApiPropertyOptions,
} from '@nestjs/swagger';
import { IsOptional, ValidateIf } from 'class-validator';
import { CURRENCIES, isCurrency } from '../../domain/currencies.js';
import {
  BILLING_INTERVALS,
  SUBSCRIPTION_STATUSES,
  type BillingInterval,
  type Subscription,
  type SubscriptionStatus,
} from '../../domain/account/account.events.js';
import { CodeInPassingRequest } from '../referral-codes/code-in-passing.request.js';
import {
  emptyOrNullAsMissing,
  Id,
  Must,
  Nested,
  nullAsMissing,
  OptionalText,
} from '../shapes/request-members.js';
import { isPlainObject, Member } from '../shapes/request-shape.js';

const isOneOf =
  (values: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'string' && values.includes(value);

/** Required by PAID; optional otherwise. */
const isNeeded = (subscription: object, value: unknown): boolean =>
  Reflect.get(subscription, 'status') === 'PAID' || value !== undefined;

export class SubscriptionRequest {
  @Member()
  @Must(`be one of ${SUBSCRIPTION_STATUSES.join(', ')}`, isOneOf(SUBSCRIPTION_STATUSES), {
    rsCode: 'RS022',
  })
  @ApiProperty({ enum: SUBSCRIPTION_STATUSES })
  status: SubscriptionStatus;

  @Member(nullAsMissing)
  @ValidateIf(isNeeded)
  @Must(
    'be a number not below 0',
    (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  )
  @ApiPropertyOptional({ type: Number, minimum: 0, nullable: true })
  value?: number;

  @Member(emptyOrNullAsMissing)
  @ValidateIf(isNeeded)
  @Must(`be one of ${BILLING_INTERVALS.join(', ')}`, isOneOf(BILLING_INTERVALS))
  @ApiPropertyOptional({ enum: [...BILLING_INTERVALS, ''], nullable: true })
  billingIntervalType?: BillingInterval;

  @Member(nullAsMissing)
  @ValidateIf(isNeeded)
  @Must('be an integer of at least 1', (value) => Number.isSafeInteger(value) && Number(value) >= 1)
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    nullable: true,
  })
  billingIntervalValue?: number;
}

/** POST accountsync. */
@ApiExtraModels(SubscriptionRequest)
export class SyncAccountRequest {
  @Id({ required: true })
  id: string;

  @Must('be an object with a status', isPlainObject, { rsCode: 'RS022' })
  @Nested(() => SubscriptionRequest)
  @ApiProperty({
    allOf: [{ $ref: getSchemaPath(SubscriptionRequest) }],
    // A paid subscription says what is paid.
    if: { properties: { status: { const: 'PAID' } } },
    then: {
      required: ['value', 'billingIntervalType', 'billingIntervalValue'],
      properties: {
        status: {},
        value: { type: 'number' },
        billingIntervalType: { type: 'string', minLength: 1 },
        billingIntervalValue: { type: 'integer' },
      },
    },
  } as ApiPropertyOptions)
  subscription: SubscriptionRequest;

  @OptionalText(
    {
      words: 'be a currency of ISO 4217 in upper case',
      test: isCurrency,
      described: { enum: CURRENCIES },
    },
    {},
  )
  currency?: string;

  @IsOptional()
  @Must('be an object', isPlainObject)
  @Nested(() => CodeInPassingRequest)
  @ApiPropertyOptional({ type: CodeInPassingRequest, nullable: true })
  referral?: CodeInPassingRequest | null;
}

/** The subscription as it is stored and shown, without members that were not given. */
export function subscriptionOf({
  status,
  value,
  billingIntervalType,
  billingIntervalValue,
}: SubscriptionRequest): Subscription {
  return {
    status,
    ...(value === undefined ? {} : { value }),
    ...(billingIntervalType === undefined ? {} : { billingIntervalType }),
    ...(billingIntervalValue === undefined ? {} : { billingIntervalValue }),
  };
}
