import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';

/** Describes `limit` and `offset`, as `parameters.ts` parses them. */
export const ApiPage = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'limit',
      required: false,
      description: '0: only the totals.',
      schema: { type: 'integer', minimum: 0, maximum: 1000, default: 10 },
    }),
    ApiQuery({
      name: 'offset',
      required: false,
      description: 'Row of the first result, from 0.',
      schema: { type: 'integer', minimum: 0, default: 0 },
    }),
  );

/** A text, or one of the given values. An empty one counts as missing. */
export const ApiTextQuery = (
  name: string,
  {
    description,
    required = false,
    values,
  }: {
    readonly description?: string;
    readonly required?: boolean;
    readonly values?: readonly string[];
  } = {},
): MethodDecorator =>
  ApiQuery({
    name,
    required,
    ...(description === undefined ? {} : { description }),
    schema: { type: 'string', ...(values === undefined ? {} : { enum: [...values] }) },
  });

/** `true` or `false`. */
export const ApiBooleanQuery = (
  name: string,
  { fallback, description }: { readonly fallback: boolean; readonly description: string },
): MethodDecorator =>
  ApiQuery({ name, required: false, description, schema: { type: 'boolean', default: fallback } });

/** A point in time, or two separated by a comma. */
export const ApiDateQuery = (name: string): MethodDecorator =>
  ApiTextQuery(name, {
    description:
      'Exactly this time, or `from,to`: both included, either may be missing. Epoch milliseconds or ISO 8601.',
  });

/** The selection of a user's members. */
export const ApiFieldSelection = (): MethodDecorator =>
  applyDecorators(
    ApiTextQuery('fields', {
      description:
        'Names of the members to show, with commas between them; not together with `extraFields`.',
    }),
    ApiTextQuery('extraFields', {
      description: 'Names of members to show besides the default ones: `dateBlocked`.',
    }),
  );
