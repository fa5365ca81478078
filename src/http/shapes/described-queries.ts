import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { ISO_TIME } from '../../foundation/instant.js';
import { CONTROLS, ID_PATTERN } from '../../foundation/outside-text.js';

/** Describes `limit` and `offset` for `parameters.ts`. */
export const ApiPage = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'limit',
      required: false,
      schema: { type: 'integer', minimum: 0, maximum: 1000, default: 10 },
    }),
    ApiQuery({
      name: 'offset',
      required: false,
      schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
    }),
  );

/** A text or one of the values; an empty one counts as missing. */
export const ApiTextQuery = (
  name: string,
  {
    required = false,
    values,
    pattern,
  }: {
    readonly required?: boolean;
    readonly values?: readonly string[];
    readonly pattern?: string;
  } = {},
): MethodDecorator =>
  ApiQuery({
    name,
    required,
    schema: {
      type: 'string',
      ...(required ? { pattern: '\\S' } : {}),
      ...(values === undefined ? {} : { enum: [...values, ''] }),
      ...(pattern === undefined ? {} : { pattern: `^\\s*(?:${pattern})?\\s*$` }),
    },
  });

/** `true` or `false`. */
export const ApiBooleanQuery = (
  name: string,
  { fallback }: { readonly fallback: boolean },
): MethodDecorator =>
  ApiQuery({ name, required: false, schema: { type: 'boolean', default: fallback } });

/** A time, or two separated by a comma. */
export function ApiDateQuery(name: string): MethodDecorator {
  const time = `\\s*(?:-?\\d{1,15}|${ISO_TIME})?\\s*`;
  const schema = { type: 'string', pattern: `^${time}(?:,${time})?$` } as const;
  return ApiQuery({ name, required: false, schema });
}

/** The id of an account or a user. */
export const ApiIdQuery = (
  name: string,
  { required = false }: { readonly required?: boolean } = {},
): MethodDecorator =>
  ApiQuery({
    name,
    required,
    schema: { type: 'string', minLength: required ? 1 : 0, maxLength: 255, pattern: ID_PATTERN },
  });

/** Comma-separated names of members. */
export function ApiFieldSelection(names: readonly string[]): MethodDecorator {
  const blank = `[^\\S${CONTROLS}]*`;
  const name = `${blank}(?:${names.join('|')})?${blank}`;
  const schema = { type: 'string', pattern: `^\\s*${name}(?:,${name})*\\s*$` } as const;
  return applyDecorators(
    ...['fields', 'extraFields'].map((one) => ApiQuery({ name: one, required: false, schema })),
  );
}
