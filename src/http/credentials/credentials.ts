import type { IncomingHttpHeaders } from 'node:http';
import type { TokenSecret } from '../../command-handling/token-secrets.js';
import type { TokenRules, TokenSubject } from './user-token.js';

export interface VerifiedToken {
  readonly subject: TokenSubject;
  readonly signedWith: TokenSecret;
}

/** Verifies the token of a request; undefined: invalid. */
export type VerifyToken = (
  secrets: readonly TokenSecret[],
  rules: TokenRules,
) => Promise<VerifiedToken | undefined>;

/** The object that passport receives as the request: its members stay off Fastify's request. */
export interface Credentials<Holder extends object = object> {
  readonly headers: IncomingHttpHeaders;
  /** Undefined: an unknown key. */
  readonly findKey: (key: string) => Promise<Holder | undefined>;
  /** Finds the holder of the request's token; undefined: invalid. Missing: tokens are ignored. */
  readonly findUser?: (verify: VerifyToken) => Promise<Holder | undefined>;
  /** Set by the guard; false: not authenticated. */
  holder?: Holder | false;
}
