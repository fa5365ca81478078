import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore } from '../../src/stores/core.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import { createStores } from './running-service.js';

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
  const core = await openCore({
    config: loadConfig(env),
    logger: pino({ level: 'silent' }),
    applicationName: 'test',
    actor: { kind: 'system', id: 'test' },
  });
  try {
    const made = await core.tenantCommands.create({
      alias: 'demo',
      programType: 'API_ONLY',
      openEndpoints: false,
      program: DEFAULT_PROGRAM,
    });
    if ('refused' in made) throw new Error(`the tenant was refused: ${made.refused}`);
    return { url: stores.databaseUrl, apiKey: made.liveApiKey, env, drop: () => stores.remove() };
  } finally {
    await core.close();
  }
}
