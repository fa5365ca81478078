import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiQuery,
  type ApiBodyOptions,
  type ApiQueryOptions,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import * as z from 'zod';

/**
 * Schemas of the operations interface. The documents are those of the command line, which the
 * operator's pages describe.
 */

type Schema = Extract<ApiResponseOptions, { schema: unknown }>['schema'];

export const DOCUMENT = {
  type: 'object',
} as const;
export const DOCUMENTS = { type: 'array', items: { type: 'object' } } as const;

export const RUN = {
  type: 'object',
  required: [
    'id',
    'operation',
    'by',
    'tenant',
    'mode',
    'parameters',
    'state',
    'startedAt',
    'finishedAt',
    'progress',
    'result',
    'error',
  ],
  properties: {
    id: { type: 'string' },
    operation: { type: 'string' },
    by: { type: 'string' },
    tenant: { type: ['string', 'null'] },
    mode: { type: ['string', 'null'] },
    parameters: { type: 'object' },
    state: { type: 'string', enum: ['running', 'done', 'failed'] },
    startedAt: { type: 'string', format: 'date-time' },
    finishedAt: { type: ['string', 'null'], format: 'date-time' },
    progress: { type: ['object', 'null'] },
    result: {},
    error: { type: ['string', 'null'] },
  },
} as unknown as Schema;

export const RUNS = { type: 'array', items: RUN } as Schema;

/** Describes a body by the schema that parses it; one that takes `{}` may be left out. */
export const ApiRequest = (shape: z.ZodType): MethodDecorator => {
  const required = !shape.safeParse({}).success;
  return ApiBody({ required, schema: schemaOf(shape) } as ApiBodyOptions);
};

/** Describes the parameters of a query by the schema that parses them. */
export const ApiQueries = (shape: z.ZodObject): MethodDecorator => {
  const { properties = {}, required = [] } = schemaOf(shape);
  return applyDecorators(
    ...Object.entries(properties).map(([name, schema]) =>
      ApiQuery({ name, required: required.includes(name), schema } as ApiQueryOptions),
    ),
  );
};

function schemaOf(shape: z.ZodType) {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' });
  return schema;
}
