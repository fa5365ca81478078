import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import 'reflect-metadata';
import { pino, type Logger } from 'pino';
import { ConfigError, loadConfig, publicUrlAt, type Config } from '../config/config.js';
import { isStoreAway, type Core } from '../core/core.js';
import { errorName, firstLine } from '../foundation/describe-error.js';
import { makeDemoTenant } from '../operations/tenants/demo-tenant.js';
import { startService, type Service } from './service.js';

const LATER_MS = 1_000;

/**
 * Starts the service and stops it on SIGTERM or SIGINT. What cannot be started is said in one line.
 */
async function main(): Promise<void> {
  const config = loadConfig();
  const logger = pino({
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
  });
  const version = ownVersion();
  const embedded = config.databaseUrl === undefined;
  let welcome: ((url: string) => string) | undefined;
  let late: ReturnType<typeof makeDemoTenant> | undefined;
  const starting = startService({
    config,
    logger,
    version,
    prepare: async (core) => {
      if (!embedded) return;
      try {
        welcome = await makeDemoTenant(core);
      } catch (error) {
        // The log is elsewhere and away yet: the service starts all the same, and the tenant is
        // made when the log is there.
        if (!isStoreAway(error)) throw error;
        late = makeDemoTenantLater(core);
      }
    },
  });
  stopOnSignals(starting, config, logger);
  try {
    const { url } = await starting;
    logger.info({ url, version, roles: [...config.roles] }, 'listening');
    if (welcome) process.stdout.write(welcome(url));
    const lateWelcome = await late;
    if (lateWelcome) process.stdout.write(lateWelcome(url));
  } catch (error) {
    // The tenant was made and its keys are shown at no other start, so they are shown although this
    // one failed, e.g. for its port.
    if (welcome) process.stdout.write(welcome(publicUrlAt(config, config.port)));
    throw error;
  }
}

/**
 * From the nearest package.json above this file, whose folder is another one when it is bundled.
 */
function ownVersion(): string {
  for (let folder = new URL('.', import.meta.url); ; folder = new URL('..', folder)) {
    const description = new URL('package.json', folder);
    if (existsSync(description))
      return (JSON.parse(readFileSync(description, 'utf8')) as { version: string }).version;
    if (folder.pathname === '/') throw new Error('package.json is missing');
  }
}

async function makeDemoTenantLater(core: Core): ReturnType<typeof makeDemoTenant> {
  for (;;) {
    try {
      return await makeDemoTenant(core);
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      await delay(LATER_MS);
    }
  }
}

/**
 * Also while it starts: it is stopped then as soon as it stands, for its Postgres must not be left
 * behind.
 */
function stopOnSignals(
  starting: Promise<Service>,
  { shutdownGraceMs }: Config,
  logger: Logger,
): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'stopping');
    // Whatever hangs, the process ends; what was acknowledged is in the log.
    setTimeout(() => process.exit(1), shutdownGraceMs + 20_000).unref();
    void starting.then(
      (service) => endAfter(service.stop(), logger),
      // A start that failed has cleaned up, and says why itself.
      () => undefined,
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

async function endAfter(stopped: Promise<void>, logger: Logger): Promise<void> {
  try {
    await stopped;
    logger.info({}, 'stopped');
    process.exit(0);
  } catch (error) {
    logger.error({ error: errorName(error) }, 'the stop was not clean');
    process.exit(1);
  }
}

main().catch((error: unknown) => {
  const lines = error instanceof ConfigError ? error.problems : [firstLine(error)];
  for (const line of lines) process.stderr.write(`${line.split('\n')[0] ?? ''}\n`);
  process.exit(1);
});
