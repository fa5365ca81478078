import * as z from 'zod';
import { ApiError, badRequest } from '../edge/api-error.js';
import { markedBody } from '../edge/json-body.js';
import { ISO_TIME } from '../../foundation/instant.js';
import { roundedLines } from '../shapes/validation.js';
import { NOT_STORABLE, unstorablePath } from '../../foundation/outside-text.js';

/** A query; an empty parameter counts as not given. @throws {ApiError} BAD_REQUEST. */
export const parsedQuery = <T extends z.ZodType>(schema: T, query: unknown): z.output<T> =>
  parsed(
    schema,
    Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== '')),
  );

/**
 * The values of a query, by the types of their members: an empty parameter counts as not given, a
 * number has decimal digits only.
 */
export const queryTexts = (shape: z.ZodObject, query: unknown): object =>
  Object.fromEntries(
    Object.entries(query ?? {})
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [
        name,
        queryValue(shape.shape[name] as z.ZodType | undefined, value),
      ]),
  );

function queryValue(member: z.ZodType | undefined, value: unknown): unknown {
  const { type } = member === undefined ? {} : z.toJSONSchema(member, { io: 'input' });
  if (type === 'integer' && /^\d{1,16}$/.test(String(value))) return Number(value);
  return type === 'boolean' && (value === 'true' || value === 'false') ? value === 'true' : value;
}

/** A body; none is an empty one. @throws {ApiError} BAD_REQUEST with a line for each member. */
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

export const mode = z.enum(['live', 'test']).default('live');
/** Of so many characters: a pair of surrogates is one. */
export const textUpTo = (max: number) =>
  z
    .string('must be a text')
    .min(1, 'must not be empty')
    .refine((given) => [...given].length <= max, `takes at most ${max} characters`)
    .meta({ maxLength: max });
export const text = textUpTo(1_000);

/** Checked by the operation, which says what is wrong with it. */
export const time = text.meta({ pattern: `^${ISO_TIME}$` });
export const day = text.meta({ format: 'date' });
export const month = text.meta({ pattern: '^[0-9]{4}-(?:0[1-9]|1[0-2])$' });

export const wholeNumber = (max: number) =>
  z.int('must be a whole number').min(1, 'must be at least 1').max(max, `must be at most ${max}`);

/** A number of a query, in decimal digits. */
export const digits = (max: number) =>
  z
    .preprocess(
      (given) => (typeof given === 'string' && /^\d{1,16}$/.test(given) ? Number(given) : given),
      wholeNumber(max),
    )
    .meta({ type: 'integer', minimum: 1, maximum: max });

/** The number of entries to return. */
export const count = (max: number, usual: number) => digits(max).default(usual);
export const limitRequest = z.strictObject({ limit: count(10_000, 1_000) });
