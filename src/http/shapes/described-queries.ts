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
    schema: { type: 'string', ...(values === undefined ? {} : { enum: [...values] }) },
  });

/** `true` or `false`. */
export const ApiBooleanQuery = (
  name: string,
  { fallback }: { readonly fallback: boolean },
): MethodDecorator =>
  ApiQuery({ name, required: false, schema: { type: 'boolean', default: fallback } });

/** A point in time, or two separated by a comma. */
export const ApiDateQuery = (name: string): MethodDecorator => ApiTextQuery(name);

/** The selection of a user's members. */
export const ApiFieldSelection = (): MethodDecorator =>
  applyDecorators(ApiTextQuery('fields'), ApiTextQuery('extraFields'));
