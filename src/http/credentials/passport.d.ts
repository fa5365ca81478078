/**
 * The used parts of the two strategies. Their published types are bound to Express and lack the key
 * objects that jsonwebtoken accepts.
 */
declare module 'passport-strategy' {
  export class Strategy {
    authenticate(request: object): void;
    success(user: object): void;
    fail(): void;
    error(error: unknown): void;
  }
}

declare module 'passport-http' {
  import { Strategy } from 'passport-strategy';

  export class BasicStrategy extends Strategy {
    constructor(verify: (name: string, password: string, done: () => void) => void);
  }
}

declare module 'passport-jwt' {
  import type { KeyObject } from 'node:crypto';
  // eslint-disable-next-line no-duplicate-imports -- of another module
  import { Strategy as Base } from 'passport-strategy';

  /** The input of one verification, in place of a request. */
  export interface Signature {
    readonly token: string;
    readonly secret: KeyObject;
  }

  export interface Options {
    readonly algorithms: readonly string[];
    readonly jwtFromRequest: (signature: Signature) => string;
    readonly secretOrKeyProvider: (
      signature: Signature,
      token: string,
      done: (error: Error | null, secret?: KeyObject) => void,
    ) => void;
    readonly jsonWebTokenOptions: { readonly clockTolerance: number };
  }

  export class Strategy extends Base {
    constructor(options: Options, verify: (claims: unknown, done: () => void) => void);
  }
}
