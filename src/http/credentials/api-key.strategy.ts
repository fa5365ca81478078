import { PassportStrategy } from '@nestjs/passport';
import { BasicStrategy } from 'passport-http';
import type { Credentials } from './user-token.strategy.js';

/**
 * HTTP Basic with the key as the password under any user name, or as the user name alone. Parses
 * the header itself: passport-http rejects empty parts and cuts a password at its first colon.
 */
export class ApiKeyStrategy extends PassportStrategy(BasicStrategy, 'api-key') {
  override authenticate({ headers, findKey }: Credentials): void {
    const key = apiKeyIn(headers.authorization ?? '');
    if (key === undefined) return this.fail();
    findKey(key).then(
      (holder) => (holder === undefined ? this.fail() : this.success(holder)),
      (error: unknown) => this.error(error),
    );
  }

  /** Never called: `authenticate` finds the holder. */
  validate = (): null => null;
}

/** The API key in an `Authorization` header. Undefined: not HTTP Basic, or malformed. */
export function apiKeyIn(authorization: string): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})[ \t]*$/i.exec(authorization)?.[1];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon === -1) return undefined;
  return decoded.slice(colon + 1) || decoded.slice(0, colon) || undefined;
}
