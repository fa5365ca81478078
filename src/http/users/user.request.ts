import { ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import type { CustomFieldValue } from '../../domain/account/account.events.js';
import type { UserFields } from '../../domain/account/users/user-grant.js';
import { REFERRAL_CODE } from '../../domain/referral-code.js';
import { isLocale, LOCALE } from '../../themes/theme-locale.js';
import {
  OPTIONAL_CODE,
  optionalCode,
  ReferredByRequest,
} from '../referral-codes/code-in-passing.request.js';
import {
  ANY_VALUE,
  ClearableText,
  Id,
  Must,
  Nested,
  NUMBER_AS_TEXT,
  numberAsText,
  Optional,
  trimmed,
} from '../shapes/request-members.js';
import { CONTROLS } from '../../foundation/outside-text.js';
import {
  COUNTRIES,
  CUSTOM_FIELDS_MAX,
  EMAIL,
  isCountry,
  isEmail,
  isFieldName,
  isFieldValue,
  isSegment,
  isWebAddress,
  SEGMENTS_MAX,
} from '../../foundation/user-fields.js';
import { isPlainObject, Member } from '../shapes/request-shape.js';

/** Each code costs a look-up. */
const REFERRER_CODES_MAX = 100;
const PROGRAM_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Includes white space, and the empty text, which counts as missing. */
const CODE_SENT = {
  anyOf: [
    { type: 'string', pattern: '^\\s*[0-9A-Za-z]{0,15}\\s*$' },
    { type: 'integer', minimum: 0, maximum: 1e15 - 1 },
  ],
  nullable: true,
};
const isCode = (value: unknown): boolean => typeof value === 'string' && REFERRAL_CODE.test(value);

function isCustomFields(value: unknown): boolean {
  if (!isPlainObject(value)) return false;
  const fields = Object.entries(value);
  return (
    fields.length <= CUSTOM_FIELDS_MAX &&
    fields.every(([name, field]) => isFieldName(name) && (field === null || isFieldValue(field)))
  );
}

const isSegmentOperation = (value: unknown): boolean =>
  typeof value === 'string' && value !== '~' && isSegment(value);

/** Includes white space, and the empty text, which is dropped. */
const SEGMENT_PATTERN =
  '^\\s*(?:(?:~\\s*[^\\sC]|[^\\s~C])(?:[^C]{0,253}[^\\sC])?)?\\s*$'.replaceAll('C', CONTROLS);

/** Trimmed operations; empty ones are dropped. */
const segmentOperations = (value: unknown): unknown =>
  Array.isArray(value)
    ? value
        .map(numberAsText)
        .map((text) => (typeof text === 'string' ? text.trim().replace(/^~\s+/u, '~') : text))
        .filter((text) => text !== '')
    : (value ?? undefined);

/** Codes by program; empty ones are dropped. */
function codesByProgram(value: unknown): unknown {
  if (!isPlainObject(value)) return value ?? undefined;
  return Object.fromEntries(
    Object.entries(value)
      .map(([program, code]) => [program, trimmed(numberAsText(code))] as const)
      .filter(([, code]) => code !== null && code !== ''),
  );
}

/** Fields of a user: missing members keep the stored value. */
abstract class UserMembers {
  @ClearableText(
    {
      words: 'be an e-mail address',
      test: isEmail,
      rsCode: 'RS023',
      described: { pattern: EMAIL, maxLength: 320 },
    },
    { isTrimmed: true },
  )
  email?: string | null;

  @ClearableText(undefined, { isTrimmed: true })
  firstName?: string | null;

  @ClearableText(undefined, { isTrimmed: true })
  lastName?: string | null;

  @ClearableText({
    words: 'be an absolute http or https URL',
    test: isWebAddress,
    described: { pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', format: 'iri' },
  })
  imageUrl?: string | null;

  @ClearableText({
    words: 'be a locale like en or en_US',
    test: isLocale,
    rsCode: 'RS039',
    described: { pattern: LOCALE },
  })
  locale?: string | null;

  @ClearableText({
    words: 'be a country of ISO 3166-1 alpha-2 in upper case',
    test: isCountry,
    described: { enum: COUNTRIES },
  })
  countryCode?: string | null;

  @Member()
  @IsOptional()
  @Must('be true or false', (value) => typeof value === 'boolean')
  @ApiPropertyOptional({ type: Boolean, nullable: true })
  referable?: boolean | null;

  @Optional(
    `be an object of at most ${CUSTOM_FIELDS_MAX} fields: names of 1 to 64 letters, digits and underscores, values text up to 1024 characters, numbers, booleans or null`,
    isCustomFields,
    {
      type: 'object',
      additionalProperties: {
        nullable: true,
        oneOf: [{ type: 'string', maxLength: 1024 }, { type: 'number' }, { type: 'boolean' }],
      },
      propertyNames: { pattern: '^[A-Za-z0-9_]{1,64}$' },
      maxProperties: CUSTOM_FIELDS_MAX,
    } as ApiPropertyOptions,
  )
  customFields?: Readonly<Record<string, CustomFieldValue | null>>;

  @Member(segmentOperations)
  @IsOptional()
  @Must(
    `be an array of at most ${SEGMENTS_MAX} operations (key, ~key or ~*)`,
    (value) =>
      Array.isArray(value) && value.length <= SEGMENTS_MAX && value.every(isSegmentOperation),
  )
  @ApiPropertyOptional({
    type: 'array',
    items: { anyOf: [{ type: 'string', pattern: SEGMENT_PATTERN }, NUMBER_AS_TEXT] },
    maxItems: SEGMENTS_MAX,
    nullable: true,
  })
  segments?: readonly string[];

  @Member((value) => {
    const code = trimmed(numberAsText(value));
    return code === '' || code === null ? undefined : code;
  })
  @IsOptional()
  @Must('be 1 to 15 letters and digits', isCode, { rsCode: 'RS034' })
  @ApiPropertyOptional(CODE_SENT)
  referralCode?: string;

  @Member(codesByProgram)
  @IsOptional()
  @Must(
    'be an object from program ids to codes',
    (value) =>
      isPlainObject(value) && Object.keys(value).every((program) => PROGRAM_ID.test(program)),
  )
  @Must(
    'hold codes of 1 to 15 letters and digits',
    (value) => !isPlainObject(value) || Object.values(value).every(isCode),
    { rsCode: 'RS034' },
  )
  @ApiPropertyOptional({
    type: 'object',
    propertyNames: { pattern: '^[A-Za-z0-9_-]{1,64}$' },
    additionalProperties: CODE_SENT,
    nullable: true,
  } as ApiPropertyOptions)
  referralCodes?: Readonly<Record<string, string>>;

  @IsOptional()
  @Must('be an object', isPlainObject)
  @Nested(() => ReferredByRequest)
  @ApiPropertyOptional({ type: ReferredByRequest, nullable: true })
  referredBy?: ReferredByRequest | null;

  @Member((value) =>
    Array.isArray(value)
      ? value.map(optionalCode).filter((code) => code !== undefined)
      : (value ?? undefined),
  )
  @IsOptional()
  @Must(
    `be an array of at most ${REFERRER_CODES_MAX} codes`,
    (value) =>
      Array.isArray(value) &&
      value.length <= REFERRER_CODES_MAX &&
      value.every((code) => typeof code === 'string'),
  )
  @ApiPropertyOptional({
    type: 'array',
    items: OPTIONAL_CODE,
    maxItems: REFERRER_CODES_MAX,
    nullable: true,
  })
  referredByCodes?: readonly string[];

  @Member((value) => (typeof value === 'string' ? value : undefined))
  @ApiPropertyOptional(ANY_VALUE)
  cookies?: string;

  @Id()
  paymentProviderId?: string;
}

/** For open routes, with the ids in the path. */
export class UserRequest extends UserMembers {
  @Id()
  id?: string;

  @Id()
  accountId?: string;
}

/** For POST user, with the ids in the body. */
export class IdentifiedUserRequest extends UserMembers {
  @Id({ required: true })
  id: string;

  @Id({ required: true })
  accountId: string;
}

/** For a visitor identified by a cookie; the service makes the ids. */
export class CookieUserRequest extends UserMembers {
  @Id()
  cookieId?: string;
}

/** The body's user fields in the form of a command. */
export function userFieldsOf(body: UserMembers): UserFields {
  return {
    changes: {
      email: body.email,
      firstName: body.firstName,
      lastName: body.lastName,
      imageUrl: body.imageUrl,
      locale: body.locale,
      countryCode: body.countryCode,
      referable: body.referable,
      customFields: body.customFields,
      segments: body.segments,
    },
    referralCode: body.referralCode,
    referralCodes: body.referralCodes ?? {},
    paymentProviderId: body.paymentProviderId,
    codes: referrerCodes(body),
  };
}

/** Valid referrer codes of a request, in the order in which they are tried. */
export function referrerCodes({
  referredBy,
  referredByCodes,
}: Pick<UserRequest, 'referredBy' | 'referredByCodes'>): readonly string[] {
  return [...(referredBy?.code === undefined ? [] : [referredBy.code]), ...(referredByCodes ?? [])];
}
