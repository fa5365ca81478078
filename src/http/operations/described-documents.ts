import { ApiBody, type ApiBodyOptions, type ApiResponseOptions } from '@nestjs/swagger';
import * as z from 'zod';

/**
 * Schemas of the operations interface. The documents are those of the command line, which the
 * operator's pages describe.
 */

type Schema = Extract<ApiResponseOptions, { schema: unknown }>['schema'];

export const DOCUMENT = {
  type: 'object',
  description: 'The document that the command of the same name prints with `--json`',
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
    tenant: { type: ['string', 'null'], description: 'Null: it is of no single tenant' },
    mode: { type: ['string', 'null'] },
    parameters: { type: 'object', description: 'Its arguments, as long as they are kept' },
    state: { type: 'string', enum: ['running', 'done', 'failed'] },
    startedAt: { type: 'string', format: 'date-time' },
    finishedAt: { type: ['string', 'null'], format: 'date-time' },
    progress: {
      type: ['object', 'null'],
      description: '`phase`, `done`, `total` (null: not known)',
    },
    result: {
      description:
        'The result; null until it is done, in lists, and when it is no longer kept: `error` says why. With `cut`, its differences are not complete',
    },
    error: { type: ['string', 'null'] },
  },
} as unknown as Schema;

export const RUNS = { type: 'array', items: RUN } as Schema;

/** Describes a body by the schema that parses it. */
export const ApiRequest = (shape: z.ZodType): MethodDecorator => {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' });
  return ApiBody({ required: false, schema } as ApiBodyOptions);
};
