import { ApiError } from '../http/edge/api-error.js';
import { isIdentifier } from '../foundation/identifier.js';
import { parseRequest } from '../http/shapes/validation.js';
import { UserRequest } from '../http/users/user.request.js';
import { CommandError } from './command-error.js';

/** @throws {CommandError} */
export function idOf(option: string, id: string): string {
  if (!isIdentifier(id))
    throw new CommandError(`${option} must be 1 to 255 characters without control characters`);
  return id;
}

/**
 * The user's fields in the token, checked as in a body: a claim that no body can repeat is useless.
 */
export function fieldsOf(written: readonly string[]): Readonly<Record<string, unknown>> {
  const fields = Object.fromEntries(written.map(fieldOf));
  const known: object = readable(fields);
  const [unknown] = Object.keys(fields).filter((name) => !Object.hasOwn(known, name));
  if (unknown !== undefined)
    throw new CommandError(
      `--write: ${JSON.stringify(unknown.slice(0, 64))} is no field of a user, or has no value`,
    );
  return fields;
}

function fieldOf(assignment: string): [string, unknown] {
  const [, name, value = ''] = /^([A-Za-z]+)=(.*)$/s.exec(assignment) ?? [];
  if (name === undefined || name === 'id' || name === 'accountId')
    throw new CommandError('--write takes field=value, for fields other than the ids');
  return [name, /^(?:[{[].*|true|false|null)$/s.test(value) ? jsonOf(name, value) : value];
}

function jsonOf(name: string, value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw new CommandError(`--write ${name}: the value is no JSON`);
  }
}

function readable(fields: Readonly<Record<string, unknown>>): UserRequest {
  try {
    return parseRequest(UserRequest, fields);
  } catch (error) {
    if (error instanceof ApiError)
      throw new CommandError(`--write: ${(error.body.validationErrors ?? []).join('; ')}`);
    throw error;
  }
}
