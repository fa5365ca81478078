import { createStores } from './running-service.js';
import { openCoreOn } from '../harness/open-core-on.js';
import { makeTenant } from '../harness/webhook-tenants.js';

/** A database of one's own with the tenant `demo` in it, for services that run as processes. */
export interface TenantDatabase {
  readonly url: string;
  readonly apiKey: string;
  /** What a service needs in its environment to run on it. */
  readonly env: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

export async function createTenantDatabase(): Promise<TenantDatabase> {
  const stores = await createStores();
  const env = { DATABASE_URL: stores.databaseUrl, MASTER_KEY_FILE: stores.masterKeyFile };
  const core = await openCoreOn(env);
  try {
    const { key } = await makeTenant(core, 'demo');
    return { url: stores.databaseUrl, apiKey: key, env, drop: () => stores.remove() };
  } finally {
    await core.close();
  }
}
