import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { plainToInstance, type ClassConstructor } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { ApiError, badRequest } from './api-error.js';

/** What a rule of a request shape may carry: the numeric code of its refusal. */
export interface RuleContext {
  readonly rsCode: string;
}

/** Classes that refuse members they do not know. All others ignore them. */
const strict = new WeakSet<object>();

/** Marks a request shape: members that it does not declare are 400. */
export function RefusesUnknownMembers(): ClassDecorator {
  return (target) => void strict.add(target);
}

/**
 * Turns a parsed body into a request shape.
 * @throws {ApiError} BAD_REQUEST with one line per broken rule, each beginning with the member's path; `rsCode` is that of the first
 * rule that has one.
 */
export function parseRequest<T extends object>(shape: ClassConstructor<T>, body: unknown): T {
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
    throw badRequest('the body must be a JSON object');
  const request = plainToInstance(shape, body ?? {});
  const errors = validateSync(request, {
    whitelist: true,
    forbidNonWhitelisted: strict.has(shape),
    forbidUnknownValues: false,
    validationError: { target: false, value: false },
  });
  if (errors.length > 0) throw refusal(errors);
  return request;
}

function refusal(errors: readonly ValidationError[]): ApiError {
  const broken = errors.flatMap((error) => brokenRules(error, ''));
  const rsCode = broken.find((rule) => rule.rsCode !== undefined)?.rsCode;
  return new ApiError('BAD_REQUEST', { validationErrors: broken.map((rule) => rule.line), ...(rsCode === undefined ? {} : { rsCode }) });
}

interface BrokenRule {
  readonly line: string;
  readonly rsCode?: string;
}

function brokenRules(error: ValidationError, parent: string): readonly BrokenRule[] {
  const path = /^\d+$/.test(error.property)
    ? `${parent}[${error.property}]`
    : parent === ''
      ? error.property
      : `${parent}.${error.property}`;
  const own = Object.entries(error.constraints ?? {}).map(([rule, message]) => ({
    line: rule === 'whitelistValidation' ? `${path} is not a member of this request` : lineOf(path, error.property, message),
    ...rsCodeOf(error, rule),
  }));
  return [...own, ...(error.children ?? []).flatMap((child) => brokenRules(child, path))];
}

/** Rules of our own say what is wrong behind the member's name; those of the library begin with the name, or name it elsewhere. */
function lineOf(path: string, property: string, message: string): string {
  return message.startsWith(`${property} `) ? `${path}${message.slice(property.length)}` : `${path}: ${message}`;
}

function rsCodeOf(error: ValidationError, rule: string): { readonly rsCode?: string } {
  const context: unknown = error.contexts?.[rule];
  const rsCode: unknown = typeof context === 'object' && context !== null ? Reflect.get(context, 'rsCode') : undefined;
  return typeof rsCode === 'string' ? { rsCode } : {};
}

/** Parses every `@Body()` whose declared type is a request shape. Paths and queries are read by the parsers of `parameters.ts`. */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' || !isShape(metatype)) return value;
    return parseRequest(metatype, value);
  }
}

const NOT_SHAPES: readonly unknown[] = [String, Boolean, Number, Array, Object, Buffer];

function isShape(metatype: ArgumentMetadata['metatype']): metatype is ClassConstructor<object> {
  return metatype !== undefined && !NOT_SHAPES.includes(metatype);
}
