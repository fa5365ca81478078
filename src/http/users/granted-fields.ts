import type { UserFields } from '../../domain/account/user-grant.js';
import { ApiError } from '../edge/api-error.js';
import { parseRequest } from '../shapes/validation.js';
import { userFieldsOf, UserRequest } from './user.request.js';

/**
 * What a token's claims about its user allow to be written, read as a body would be. A claim that
 * no body could hold allows nothing: it is left out, and the others count.
 */
export function grantedFields(claims: Readonly<Record<string, unknown>>): UserFields {
  const sound = Object.entries(claims).filter(([name, value]) => isSound({ [name]: value }));
  return userFieldsOf(parseRequest(UserRequest, Object.fromEntries(sound)));
}

function isSound(claim: Readonly<Record<string, unknown>>): boolean {
  try {
    parseRequest(UserRequest, claim);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
