import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
  type ApiPropertyOptions,
} from '@nestjs/swagger';
import { IsOptional, ValidateIf } from 'class-validator';
import {
  BILLING_INTERVALS,
  SUBSCRIPTION_STATUSES,
  type BillingInterval,
  type Subscription,
  type SubscriptionStatus,
} from '../../domain/account/account.events.js';
import { CodeInPassingRequest } from '../referral-codes/code-in-passing.request.js';
import {
  CURRENCY,
  emptyOrNullAsMissing,
  Id,
  Must,
  Nested,
  nullAsMissing,
  OneOf,
  OptionalText,
} from '../shapes/request-members.js';
import { isPlainObject, Member } from '../shapes/request-shape.js';

/** Required by PAID; optional otherwise. */
const isNeeded = (subscription: object, value: unknown): boolean =>
  Reflect.get(subscription, 'status') === 'PAID' || value !== undefined;

export class SubscriptionRequest {
  @OneOf(SUBSCRIPTION_STATUSES, { rsCode: 'RS022' })
  status: SubscriptionStatus;

  @Member(nullAsMissing)
  @ValidateIf(isNeeded)
  @Must(
    'be a number from 0 to 2^53-1',
    (value) => typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER,
  )
  @ApiPropertyOptional({
    type: Number,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    nullable: true,
  })
  value?: number;

  @Member(emptyOrNullAsMissing)
  @ValidateIf(isNeeded)
  @Must(`be one of ${BILLING_INTERVALS.join(', ')}`, (value) =>
    BILLING_INTERVALS.some((interval) => interval === value),
  )
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
    // A paid subscription requires the members of the payment.
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

  @OptionalText(CURRENCY)
  currency?: string;

  @IsOptional()
  @Must('be an object', isPlainObject)
  @Nested(() => CodeInPassingRequest)
  @ApiPropertyOptional({ type: CodeInPassingRequest, nullable: true })
  referral?: CodeInPassingRequest | null;
}

/** The subscription as stored and shown, without missing members. */
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
