import type { PipeTransform } from '@nestjs/common';
import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  getSchemaPath,
  type ApiBodyOptions,
} from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { digitsUpTo } from '../../foundation/digits-up-to.js';
import { REWARD_TYPES, type RewardType, type RewardValue } from '../../domain/program.js';
import { isUnit, trimmedUnit, UNIT_LENGTH_MAX } from '../../domain/units.js';
import { badRequest } from '../edge/api-error.js';
import { trimmedPattern } from '../../foundation/outside-text.js';
import {
  CURRENCY,
  emptyOrNullAsMissing,
  Must,
  nullAsMissing,
  NUMBER_AS_TEXT,
  numberAsText,
  OneOf,
  OptionalText,
} from '../shapes/request-members.js';
import { isPlainObject, Member, type Shape } from '../shapes/request-shape.js';
import { parseRequest } from '../shapes/validation.js';

/** Earlier times are probably in seconds by mistake. */
const INSTANT_MIN = Date.UTC(2000, 0, 1);
const INSTANT_MAX = 8.64e15;
const isInstant = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Number(value) >= INSTANT_MIN && Number(value) <= INSTANT_MAX;
/** Units are stored and compared without surrounding white space. */
const unitFrom = (value: unknown): unknown =>
  emptyOrNullAsMissing(typeof value === 'string' ? trimmedUnit(value) : value);

const OF_OTHERS: Readonly<Record<RewardType, readonly string[]>> = {
  CREDIT: ['discountPercent', 'fuelTankCode', 'fuelTankType', 'amount'],
  PCT_DISCOUNT: ['assignedCredit', 'currency', 'fuelTankCode', 'fuelTankType', 'amount'],
  FUELTANK: ['assignedCredit', 'currency', 'discountPercent'],
};

/** Members of other reward types must be null or missing. */
const Without =
  (...names: readonly string[]) =>
  ({ prototype }: { readonly prototype: object }): void => {
    for (const name of names) {
      Member(emptyOrNullAsMissing)(prototype, name);
      IsOptional()(prototype, name);
      Must('not be given for this type of reward', () => false)(prototype, name);
    }
  };

function Instant(): PropertyDecorator {
  return applyDecorators(
    Member(nullAsMissing),
    IsOptional(),
    Must('be a time in epoch milliseconds, in the year 2000 or later', isInstant),
    ApiPropertyOptional({
      type: 'integer',
      minimum: INSTANT_MIN,
      maximum: INSTANT_MAX,
      nullable: true,
    }),
  );
}

const UNIT_PATTERN = trimmedPattern(UNIT_LENGTH_MAX);
const IsUnit = (): PropertyDecorator =>
  Must(
    `be 1 to ${UNIT_LENGTH_MAX} characters without control characters`,
    (value) => typeof value === 'string' && isUnit(value),
  );

abstract class RewardRequest {
  @OneOf(REWARD_TYPES)
  type: RewardType;

  @OptionalText()
  name?: string;

  @OptionalText()
  description?: string;

  @Instant()
  dateExpires?: number;

  @Instant()
  dateScheduledFor?: number;

  @Member(nullAsMissing)
  @IsOptional()
  @Must('be true or false', (value) => typeof value === 'boolean')
  @ApiPropertyOptional({ type: Boolean, nullable: true, default: true })
  cancellable?: boolean;
}

@Without(...OF_OTHERS.CREDIT)
export class CreditRewardRequest extends RewardRequest {
  declare type: 'CREDIT';

  @Member(unitFrom)
  @IsUnit()
  @ApiProperty({ type: String, pattern: UNIT_PATTERN, example: 'CENTS' })
  unit: string;

  /** JSON is exact up to 2^53-1: a larger value is malformed, while a sum may be too large. */
  @Member(nullAsMissing)
  @Must(
    'be an integer above 0 and not above 2^53-1',
    (value) => Number.isSafeInteger(value) && Number(value) > 0,
  )
  @ApiProperty({ type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  assignedCredit: number;

  @OptionalText(CURRENCY)
  currency?: string;
}

@Without(...OF_OTHERS.PCT_DISCOUNT)
export class PercentRewardRequest extends RewardRequest {
  declare type: 'PCT_DISCOUNT';

  @Member(nullAsMissing)
  @Must(
    'be an integer from 1 to 100',
    (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100,
  )
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 100 })
  discountPercent: number;

  @Member(emptyOrNullAsMissing)
  @IsOptional()
  @Must('be % for a percentage', (value) => value === '%')
  @ApiPropertyOptional({ type: String, enum: ['%', ''], nullable: true })
  unit?: '%';
}

@Without(...OF_OTHERS.FUELTANK)
export class FuelTankRewardRequest extends RewardRequest {
  declare type: 'FUELTANK';

  @Member((value) => numberAsText(emptyOrNullAsMissing(value)))
  @Must('be 1 to 255 characters', (value) => typeof value === 'string' && [...value].length <= 255)
  @ApiProperty({ anyOf: [{ type: 'string', minLength: 1, maxLength: 255 }, NUMBER_AS_TEXT] })
  fuelTankCode: string;

  @Member(nullAsMissing)
  @Must('be one of PCT_DISCOUNT, CREDIT', (value) => value === 'PCT_DISCOUNT' || value === 'CREDIT')
  @ApiProperty({ enum: ['PCT_DISCOUNT', 'CREDIT'] })
  fuelTankType: 'PCT_DISCOUNT' | 'CREDIT';

  @Member((value) =>
    typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : nullAsMissing(value),
  )
  @Must(
    'be an integer above 0 and not above 2^53-1, or a text of one',
    (value) => Number.isSafeInteger(value) && Number(value) > 0,
  )
  @ApiProperty({
    oneOf: [
      { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      {
        type: 'string',
        pattern: `^${digitsUpTo(Number.MAX_SAFE_INTEGER)}$`,
        maxLength: 16,
        not: { pattern: '^0*$' },
      },
    ],
  })
  amount: number;

  @Member(unitFrom)
  @IsOptional()
  @IsUnit()
  @ApiPropertyOptional({ type: String, pattern: `^\\s*$|${UNIT_PATTERN}`, nullable: true })
  unit?: string;
}

/** POST rewards/account/{accountId}/user/{userId}: the type selects the members. */
export type CreateRewardRequest =
  CreditRewardRequest | PercentRewardRequest | FuelTankRewardRequest;

const SHAPES: Readonly<Record<RewardType, Shape<CreateRewardRequest>>> = {
  CREDIT: CreditRewardRequest,
  PCT_DISCOUNT: PercentRewardRequest,
  FUELTANK: FuelTankRewardRequest,
};
const REFUSE_UNKNOWN = { unknownMembers: 'refused' } as const;

/** @throws {ApiError} BAD_REQUEST. The decision checks the dates, because it has the time. */
export function parseCreateReward(body: unknown): CreateRewardRequest {
  const type = isPlainObject(body) ? body['type'] : undefined;
  const known = REWARD_TYPES.find((one) => one === type);
  if (known !== undefined)
    return parseRequest<CreateRewardRequest>(SHAPES[known], body, REFUSE_UNKNOWN);
  throw badRequest(
    body === undefined || isPlainObject(body)
      ? `type must be one of ${REWARD_TYPES.join(', ')}`
      : 'the body must be a JSON object',
  );
}

/** For `@Body(CreateRewardPipe)`: selects the shape by the reward's type. */
export class CreateRewardPipe implements PipeTransform<unknown, CreateRewardRequest> {
  transform(body: unknown): CreateRewardRequest {
    return parseCreateReward(body);
  }
}

/** Describes the body, which no single class can. */
export const ApiCreateRewardBody = (): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(...Object.values(SHAPES)),
    ApiBody({
      schema: {
        oneOf: REWARD_TYPES.map((type) => ({
          allOf: [{ $ref: getSchemaPath(SHAPES[type]) }],
          properties: { type: { const: type } },
          patternProperties: { [`^(?:${OF_OTHERS[type].join('|')})$`]: { enum: ['', null] } },
          unevaluatedProperties: false,
        })),
      },
    } as ApiBodyOptions),
  );

export function rewardValueOf(request: CreateRewardRequest): RewardValue {
  switch (request.type) {
    case 'CREDIT':
      return {
        type: 'CREDIT',
        unit: request.unit,
        assignedCredit: request.assignedCredit,
        currency: request.currency ?? null,
      };
    case 'PCT_DISCOUNT':
      return {
        type: 'PCT_DISCOUNT',
        discountPercent: request.discountPercent,
        monthsDiscountIsValid: null,
      };
    case 'FUELTANK':
      return {
        type: 'FUELTANK',
        fuelTankCode: request.fuelTankCode,
        fuelTankType: request.fuelTankType,
        amount: request.amount,
        unit: request.unit ?? null,
      };
  }
}
