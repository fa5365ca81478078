import type { UserFields } from '../../domain/account/users/user-grant.js';
import { ApiError } from '../edge/api-error.js';
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
