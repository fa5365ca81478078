import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import { ROUNDED, roundedIn } from '../../foundation/json-text.js';
import { ApiError, badRequest } from '../edge/api-error.js';
import { markedBody } from '../edge/json-body.js';
import { isPlainObject, readShape, undeclaredMembers, type Shape } from './request-shape.js';

/** Limits the answer: a body can break any number of rules. */
const REASONS_MAX = 100;

/**
 * Turns a parsed body into a request shape. Unknown members are ignored, unless the caller refuses
 * them.
 * @throws {ApiError} BAD_REQUEST with one line per broken rule, each beginning with the member's
 * path; `rsCode` is that of the first rule that has one.
 */
export function parseRequest<T extends object>(
  shape: Shape<T>,
  body: unknown,
  options: { readonly unknownMembers?: 'ignored' | 'refused' } = {},
): T {
  const members = body ?? (body === undefined ? {} : body);
  if (!isPlainObject(members)) throw badRequest('the body must be a JSON object');
  const request = readShape(shape, members);
  const unknown =
    options.unknownMembers === 'refused'
      ? undeclaredMembers(shape, members).map((name) => ({
          line: `${name.slice(0, 64)} is not a member of this request`,
        }))
      : [];
  const marked = markedBody(body);
  const rounded = isPlainObject(marked) ? roundedLines(readShape(shape, marked)) : [];
  const broken = validateSync(request, {
    forbidUnknownValues: false,
    validationError: { target: false },
  }).flatMap((error) => brokenRules(error, ''));
  const all = [...unknown, ...rounded, ...broken];
  if (all.length > 0) throw refusal(all);
  return request;
}

/** A line for each member in which parsing rounded an integer. */
export const roundedLines = (marked: unknown): readonly BrokenRule[] =>
  roundedIn(marked).map((path) => ({ line: `${path} ${ROUNDED}` }));

interface BrokenRule {
  readonly line: string;
  readonly rsCode?: string;
}

function refusal(broken: readonly BrokenRule[]): ApiError {
  const rsCode = broken.find((rule) => rule.rsCode !== undefined)?.rsCode;
  return new ApiError('BAD_REQUEST', {
    validationErrors: broken.slice(0, REASONS_MAX).map((rule) => rule.line),
    ...(rsCode === undefined ? {} : { rsCode }),
  });
}

function brokenRules(error: ValidationError, parent: string): readonly BrokenRule[] {
  const path = /^\d+$/.test(error.property)
    ? `${parent}[${error.property}]`
    : parent === ''
      ? error.property
      : `${parent}.${error.property}`;
  const own = Object.entries(error.constraints ?? {})
    // A rule of our own requires the object.
    .filter(([rule]) => rule !== 'nestedValidation')
    .map(([rule, message]) => ({
      line: `${path}${message.startsWith(error.property) ? message.slice(error.property.length) : ` ${message}`}`,
      ...rsCodeOf(error, rule),
    }));
  // All rules of a missing member demand the same.
  if (error.value === undefined && own.length > 0)
    return [{ ...own.find(({ rsCode }) => rsCode !== undefined), line: `${path} is required` }];
  return [...own, ...(error.children ?? []).flatMap((child) => brokenRules(child, path))];
}

function rsCodeOf(error: ValidationError, rule: string): { readonly rsCode?: string } {
  const context: unknown = error.contexts?.[rule];
  const rsCode: unknown =
    typeof context === 'object' && context !== null ? Reflect.get(context, 'rsCode') : undefined;
  return typeof rsCode === 'string' ? { rsCode } : {};
}

/**
 * Parses every `@Body()` whose declared type is a request shape. `parameters.ts` parses paths and
 * queries.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' || !isShape(metatype)) return value;
    return parseRequest(metatype, value);
  }
}

const NOT_SHAPES: readonly unknown[] = [String, Boolean, Number, Array, Object, Buffer];

function isShape(metatype: ArgumentMetadata['metatype']): metatype is Shape {
  return metatype !== undefined && !NOT_SHAPES.includes(metatype);
}
