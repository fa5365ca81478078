/**
 * The parts of the two strategies that are used here. Their published types are bound to Express
 * and lack the key objects that jsonwebtoken accepts.
 */
declare module 'passport-http' {
  namespace passportHttp {
    type Done = (error: unknown, user?: unknown) => void;
    type Verify = (request: object, name: string, password: string, done: Done) => void;

    class BasicStrategy {
      constructor(options: { readonly passReqToCallback: true }, verify: Verify);
      authenticate(request: object): void;
      success(user: object): void;
      fail(challenge?: string): void;
      error(error: unknown): void;
      protected _verify: Verify;
    }
  }
  export = passportHttp;
}

declare module 'passport-jwt' {
  import type { KeyObject } from 'node:crypto';
  import type { Algorithm } from 'jsonwebtoken';

  namespace passportJwt {
    type Done<Value> = (error: unknown, value?: Value) => void;

    /** The input of one verification, in place of a request. */
    interface Signature {
      readonly token: string;
      readonly secret: KeyObject;
    }

    interface Options {
      readonly algorithms: Algorithm[];
      readonly jwtFromRequest: (request: Signature) => string;
      readonly secretOrKeyProvider: (
        request: Signature,
        token: string,
        done: Done<KeyObject>,
      ) => void;
      readonly jsonWebTokenOptions: { readonly clockTolerance: number };
    }

    class Strategy {
      constructor(options: Options, verify: (claims: unknown, done: Done<unknown>) => void);
      authenticate(request: object): void;
      success(user: object): void;
      fail(challenge?: string): void;
      error(error: unknown): void;
    }
  }
  export = passportJwt;
}
