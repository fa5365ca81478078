import type { UserFields } from '../../domain/account/users/user-grant.js';
import { ApiError } from '../edge/api-error.js';
import { readShape } from '../shapes/request-shape.js';
import { parseRequest } from '../shapes/validation.js';
import { userFieldsOf, UserRequest } from './user.request.js';

/**
 * The fields that a token allows to be written, validated like a body; invalid ones are ignored.
 */
export function grantedFields(claims: Readonly<Record<string, unknown>>): UserFields {
  const valid = Object.entries(claims).filter(([name, value]) => isValid({ [name]: value }));
  return userFieldsOf(parseRequest(UserRequest, Object.fromEntries(valid)));
}

function isValid(claim: Readonly<Record<string, unknown>>): boolean {
  try {
    parseRequest(UserRequest, claim);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** A write token has writable fields besides the ids. */
export function isWriteToken(fields: Readonly<Record<string, unknown>>): boolean {
  const { id: _id, accountId: _accountId, ...writable } = readShape(UserRequest, fields);
  return Object.values(writable).some((value) => value !== undefined);
}
