import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';

/** Describes `limit` and `offset`, as `parameters.ts` parses them. */
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
      schema: { type: 'integer', minimum: 0, default: 0 },
    }),
  );

/** A text, or one of the given values. An empty one counts as missing. */
export const ApiTextQuery = (
  name: string,
  {
    required = false,
    values,
  }: { readonly required?: boolean; readonly values?: readonly string[] } = {},
): MethodDecorator =>
  ApiQuery({
    name,
    required,
    schema: {
      type: 'string',
      ...(required ? { minLength: 1 } : {}),
      ...(values === undefined ? {} : { enum: [...values, ''] }),
    },
  });

/** `true` or `false`. */
export const ApiBooleanQuery = (
  name: string,
  { fallback }: { readonly fallback: boolean },
): MethodDecorator =>
  ApiQuery({ name, required: false, schema: { type: 'boolean', default: fallback } });

/** A day, with or without a time of it. */
export const ISO_TIME =
  '(?:[12]\\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:Z|[+-](?:0\\d|1[0-3]):[0-5]\\d)?)?)';

/** A point in time, or two separated by a comma. */
export function ApiDateQuery(name: string): MethodDecorator {
  const time = `(?:\\d{1,15}|${ISO_TIME})?`;
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

export const ID_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$';

/** The selection of a user's members. */
export const ApiFieldSelection = (): MethodDecorator =>
  applyDecorators(ApiTextQuery('fields'), ApiTextQuery('extraFields'));
