import type { IncomingHttpHeaders } from 'node:http';
import type { AccessRule } from '../edge/access.js';
import type { Tenant, TenantDirectory } from './tenant-directory.js';

/** The object that passport receives as the request: its members stay off Fastify's request. */
export interface Credentials<Holder extends object = object> {
  readonly headers: IncomingHttpHeaders;
  /** Resolves to the key's holder; undefined: an unknown key. */
  readonly findKey: (key: string) => Promise<Holder | undefined>;
  /** Undefined: tokens are ignored. */
  readonly tokenCheck?: TokenCheck;
  /** Set by the guard; false: not authenticated. */
  holder?: Holder | false;
}

export interface TokenCheck {
  readonly access: AccessRule;
  readonly tenant: Tenant;
  readonly tenants: TenantDirectory;
}
