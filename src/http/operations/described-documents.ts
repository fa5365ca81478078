import { applyDecorators, HttpCode } from '@nestjs/common';
import {
  ApiBody,
  ApiOkResponse,
  ApiQuery,
  type ApiBodyOptions,
  type ApiQueryOptions,
  type ApiResponseOptions,
} from '@nestjs/swagger';
import * as z from 'zod';
import type { OperatorRole } from '../../config/operators.js';
import { Access } from '../edge/access.js';
import type { ApiErrorCode } from '../edge/api-error.js';
import { Fails } from '../shapes/openapi.js';

/** Schemas of the operations interface; the reference describes the documents' members. */

type Schema = Extract<ApiResponseOptions, { schema: unknown }>['schema'];

export const DOCUMENT = { type: 'object' } as const;
export const DOCUMENTS = { type: 'array', items: { type: 'object' } } as const;

/** Describes a body by its schema; if that accepts `{}`, the body may be missing. */
export const ApiRequest = (
  shape: z.ZodType,
  required = !shape.safeParse({}).success || 'oneOf' in (shape.meta() ?? {}),
): MethodDecorator => ApiBody({ required, schema: schemaOf(shape) } as ApiBodyOptions);

/** Describes query parameters by their schema. */
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

/** A route of runs without a body, for operators with one of the roles. */
export const ForOperators = (
  roles: readonly OperatorRole[],
  schema: Schema,
  ...codes: readonly ApiErrorCode[]
): MethodDecorator =>
  applyDecorators(
    ApiOkResponse({ schema }),
    HttpCode(200),
    Access('operator', { roles, emptyBody: true }),
    Fails(...codes),
  );
