import * as z from 'zod';
import { ApiError, badRequest } from '../edge/api-error.js';
import { markedBody } from '../edge/json-body.js';
import { roundedLines } from '../shapes/validation.js';
import { NOT_STORABLE, unstorablePath } from '../../foundation/outside-text.js';

/** Reads query values by the types of their members; an empty parameter counts as missing. */
export function queryReader(shape: z.ZodObject): (query: unknown) => object {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' });
  const types = new Map(
    Object.entries(properties).map(([name, schema]) => [
      name,
      typeof schema === 'object' ? schema.type : undefined,
    ]),
  );
  return (query) =>
    Object.fromEntries(
      Object.entries(query ?? {})
        .filter(([, value]) => value !== '')
        .map(([name, value]) => [name, queryValue(types.get(name), value)]),
    );
}

function queryValue(type: unknown, value: unknown): unknown {
  if (type === 'integer' && /^\d{1,16}$/.test(String(value))) return Number(value);
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value;
}

/** Parses a body; a missing one is empty. @throws {ApiError} BAD_REQUEST with a line per member. */
export function parsed<T extends z.ZodType>(schema: T, given: unknown = {}): z.output<T> {
  const unstorable = unstorablePath(given);
  if (unstorable !== undefined) throw badRequest(`${unstorable.slice(1)}: it ${NOT_STORABLE}`);
  const rounded = roundedLines(markedBody(given));
  if (rounded.length > 0) throw badRequest(...rounded.map(({ line }) => line));
  const outcome = schema.safeParse(given);
  if (outcome.success) return outcome.data;
  throw new ApiError('BAD_REQUEST', {
    validationErrors: outcome.error.issues.map(({ path, message }) => {
      if (path.length === 0) return `the request: ${message}`;
      const isMissing = path.reduce<unknown>(memberOf, given) === undefined;
      return isMissing ? `${path.join('.')} is required` : `${path.join('.')}: ${message}`;
    }),
  });
}

const memberOf = (value: unknown, name: PropertyKey): unknown => Reflect.get(Object(value), name);
