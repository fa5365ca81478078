/** The used parts of the strategies, whose published types require Express. */

declare module 'passport-strategy' {
  export class Strategy {
    constructor(options: object, verify: () => void);
    authenticate(request: object): void;
    success(user: object): void;
    fail(): void;
    error(error: unknown): void;
  }
}

declare module 'passport-http' {
  export { Strategy as BasicStrategy } from 'passport-strategy';
}

declare module 'passport-jwt' {
  export { Strategy } from 'passport-strategy';
}
