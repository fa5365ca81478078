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
import { Access, type AccessRule } from '../edge/access.js';
import type { ApiErrorCode } from '../edge/api-error.js';
import { Fails } from '../shapes/openapi.js';

/** Schemas of the operations interface. The reference has the members of the documents. */

type Schema = Extract<ApiResponseOptions, { schema: unknown }>['schema'];

export const DOCUMENT = { type: 'object' } as const;
export const DOCUMENTS = { type: 'array', items: { type: 'object' } } as const;

/** Describes a body by the schema that parses it; one that takes `{}` may be left out. */
export const ApiRequest = (
  shape: z.ZodType,
  required = !shape.safeParse({}).success || 'oneOf' in (shape.meta() ?? {}),
): MethodDecorator => ApiBody({ required, schema: schemaOf(shape) } as ApiBodyOptions);

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

const operated =
  ({ emptyBody }: Pick<AccessRule, 'emptyBody'>) =>
  (roles: readonly OperatorRole[], schema: Schema, ...codes: readonly ApiErrorCode[]) =>
    applyDecorators(
      ApiOkResponse({ schema }),
      HttpCode(200),
      Access('operator', { roles, emptyBody }),
      Fails(...codes),
    );

/** A route for operators with one of the roles: its document, and the errors of its own. */
export const ForOperators = operated({ emptyBody: false });

/** The same without members in its body. */
export const ForOperatorsWithoutBody = operated({ emptyBody: true });
