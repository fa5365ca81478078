import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional, ValidateBy, ValidateNested } from 'class-validator';
import { CURRENCIES, isCurrency } from '../../domain/currencies.js';
import {
  ID_LENGTH_MAX,
  isIdentifier,
  isText,
  TEXT_LENGTH_MAX,
} from '../../foundation/identifier.js';
import { ID_PATTERN, trimmedPattern } from '../../foundation/outside-text.js';
import { isPlainObject, Member, readShape, type Shape } from './request-shape.js';

/** Decorators for members of request shapes. `""` counts as missing; null clears a member. */

/** A rule with its demand, in words that follow the member's name. */
export function Must(
  words: string,
  test: (value: unknown, object: object) => boolean,
  options: { readonly rsCode?: string } = {},
): PropertyDecorator {
  return ValidateBy(
    {
      name: words,
      validator: {
        validate: (value: unknown, args) => test(value, args?.object ?? {}),
        defaultMessage: () => `$property must ${words}`,
      },
    },
    options.rsCode === undefined ? {} : { context: { rsCode: options.rsCode } },
  );
}

/** An object of another shape; other values are left to the rules. */
export function Nested(shape: () => Shape): PropertyDecorator {
  return applyDecorators(
    Member((value) =>
      isPlainObject(value)
        ? readShape(shape(), value)
        : value === null || value === undefined
          ? value
          : 'no object',
    ),
    ValidateNested(),
  );
}

export function OneOf(
  values: readonly string[],
  options: { readonly rsCode?: string } = {},
): PropertyDecorator {
  return applyDecorators(
    Member(),
    Must(`be one of ${values.join(', ')}`, (value) => values.some((one) => one === value), options),
    ApiProperty({ enum: values }),
  );
}

/** 1 to `max` objects of another shape. @param noun such as `actions`. */
export function NestedList(shape: Shape, noun: string, max: number): PropertyDecorator {
  const read = (one: unknown): unknown => (isPlainObject(one) ? readShape(shape, one) : one);
  return applyDecorators(
    // One more than the limit suffices to refuse the list.
    Member((value) => (Array.isArray(value) ? value.slice(0, max + 1).map(read) : value)),
    Must(
      'hold objects',
      (value) => !Array.isArray(value) || value.every((one) => one instanceof shape),
    ),
    Must(
      `be an array of 1 to ${max} ${noun}`,
      (value) => Array.isArray(value) && value.length >= 1 && value.length <= max,
    ),
    ValidateNested({ each: true }),
    ApiProperty({ type: [shape], minItems: 1, maxItems: max }),
  );
}

/** A trimmed text; other values stay unchanged. */
export const trimmed = (value: unknown): unknown =>
  typeof value === 'string' ? value.trim() : value;

const emptyAsMissing = (value: unknown): unknown => (value === '' ? undefined : value);
export const nullAsMissing = (value: unknown): unknown => value ?? undefined;
export const emptyOrNullAsMissing = (value: unknown): unknown =>
  value === '' || value === null ? undefined : value;

/** A number as text if parsing lost no digit. */
export function numberAsText(value: unknown): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value)) return value;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value : String(value);
}

interface MemberOptions extends Pick<ApiPropertyOptions, 'description' | 'example'> {
  readonly required?: boolean;
  /** Removes surrounding white space, for identifiers and compared texts. */
  readonly isTrimmed?: boolean;
}

/** A client's id; a JSON number becomes a string. */
export function Id({
  required = false,
  isTrimmed = false,
  ...about
}: MemberOptions = {}): PropertyDecorator {
  return applyDecorators(
    Member((value) => numberAsText(emptyOrNullAsMissing(isTrimmed ? trimmed(value) : value))),
    ...(required ? [] : [IsOptional()]),
    Must(
      `be 1 to ${ID_LENGTH_MAX} characters without control characters`,
      (value) => typeof value === 'string' && isIdentifier(value),
    ),
    ApiProperty({ ...describedId({ required, isTrimmed }), required, ...about }),
  );
}

/** A text or a number; if it may be missing, also the empty text and null. */
function describedId({ required = false, isTrimmed = false }: MemberOptions): object {
  const pattern = isTrimmed ? trimmedPattern(ID_LENGTH_MAX) : ID_PATTERN;
  const text = { type: 'string', minLength: required ? 1 : 0, maxLength: ID_LENGTH_MAX, pattern };
  return { anyOf: [text, NUMBER_AS_TEXT], nullable: !required };
}

/** For values that are ignored unless they have a certain form. */
export const ANY_VALUE = {
  anyOf: [
    ...['string', 'number', 'boolean', 'object'].map((type) => ({ type })),
    { type: 'array', items: {} },
  ],
  nullable: true,
};

/** Accepted by `numberAsText`. */
export const NUMBER_AS_TEXT = {
  type: 'number' as const,
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};

export interface TextRule {
  /** Words after "must". */
  readonly words: string;
  readonly test: (text: string) => boolean;
  readonly rsCode?: string;
  /** The rule as JSON Schema, without the empty text. */
  readonly described?:
    | { readonly pattern: string; readonly maxLength?: number; readonly format?: undefined }
    | { readonly pattern: string; readonly format: string }
    | { readonly enum: readonly string[] };
}

export const CURRENCY: TextRule = {
  words: 'be a currency of ISO 4217 in upper case',
  test: isCurrency,
  described: { enum: CURRENCIES },
};

/** Adds the empty text and, if trimmed, white space. */
function describedText(rule: TextRule | undefined, isTrimmed = false): object {
  const { described } = rule ?? {};
  if (described === undefined) return { type: 'string', maxLength: TEXT_LENGTH_MAX };
  if ('enum' in described) return { type: 'string', enum: [...described.enum, '', null] };
  if (described.format !== undefined)
    return { anyOf: [{ type: 'string', ...described }, { enum: ['', null] }] };
  const space = isTrimmed ? '\\s*' : '';
  const pattern = `^${space}(?:${described.pattern})?${space}$`;
  return { type: 'string', ...described, pattern };
}

/** An optional text; null clears it. */
export const ClearableText = (rule?: TextRule, about?: MemberOptions): PropertyDecorator =>
  text(emptyAsMissing, rule, about);

/** An optional text; null counts as missing. */
export const OptionalText = (rule?: TextRule, about?: MemberOptions): PropertyDecorator =>
  text(emptyOrNullAsMissing, rule, about);

function text(
  read: typeof emptyAsMissing,
  rule: TextRule | undefined,
  about: MemberOptions = {},
): PropertyDecorator {
  return applyDecorators(
    Member(about.isTrimmed === true ? (value) => read(trimmed(value)) : read),
    IsOptional(),
    Must(
      rule?.words ?? `be a text of at most ${TEXT_LENGTH_MAX} characters`,
      (value) => isText(value) && (rule?.test(value) ?? true),
      rule,
    ),
    ApiPropertyOptional({
      ...describedText(rule, about.isTrimmed),
      nullable: true,
      description: about.description,
      example: about.example,
    }),
  );
}

/** An optional member with its own rule; null counts as missing, and so does an empty text. */
export function Optional(
  words: string,
  test: (value: unknown) => boolean,
  about: ApiPropertyOptions,
): PropertyDecorator {
  return applyDecorators(
    Member(
      about.type === 'object' || about.type === 'integer' ? nullAsMissing : emptyOrNullAsMissing,
    ),
    IsOptional(),
    Must(words, test),
    ApiPropertyOptional({ nullable: true, ...about }),
  );
}
