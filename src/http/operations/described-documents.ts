import { ApiBody, type ApiBodyOptions, type ApiResponseOptions } from '@nestjs/swagger';
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

/** Describes a body by the schema that parses it. */
export const ApiRequest = (shape: z.ZodType): MethodDecorator => {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' });
  return ApiBody({ required: false, schema } as ApiBodyOptions);
};
