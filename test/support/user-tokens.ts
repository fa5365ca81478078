import { createSecretKey } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { ApiClient } from './api-client.js';
import type { TestTenant } from './running-service.js';

/** A token of the mode whose secret or key signs it. */
export const token = (secret: string, claims: object): string =>
  jwt.sign(claims, createSecretKey(Buffer.from(secret)), {
    algorithm: 'HS256',
    noTimestamp: !('iat' in claims),
  });

/** A client of a user, in live mode; its token writes when it carries something of the user. */
export const userClient = (
  tenant: TestTenant,
  accountId: string,
  id: string,
  fields: object = {},
): ApiClient =>
  tenant.live.as({ token: token(tenant.liveSecret, { user: { accountId, id, ...fields } }) });
