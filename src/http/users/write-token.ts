import { readShape } from '../shapes/request-shape.js';
import { UserRequest } from './user.request.js';

/** A write token has writable fields besides the ids. */
export function isWriteToken(fields: Readonly<Record<string, unknown>>): boolean {
  const { id: _id, accountId: _accountId, ...writable } = readShape(UserRequest, fields);
  return Object.values(writable).some((value) => value !== undefined);
}
