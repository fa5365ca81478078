import type { IncomingHttpHeaders } from 'node:http';
import type { AccessRule } from './access.js';
import type { Tenant, TenantDirectory } from './tenant-directory.js';

/** What passport is given in place of a request: its notes stay off Fastify's own. */
export interface Credentials<Holder extends object = object> {
  readonly headers: IncomingHttpHeaders;
  /** Resolves to the key's holder; undefined: nobody's key. */
  readonly findKey: (key: string) => Promise<Holder | undefined>;
  /** Left out: tokens are ignored. */
  readonly tokenCheck?: TokenCheck;
  /** Set by the guard; false: nobody. */
  holder?: Holder | false;
}

export interface TokenCheck {
  readonly access: AccessRule;
  readonly tenant: Tenant;
  readonly tenants: TenantDirectory;
}
