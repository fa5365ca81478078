import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import 'reflect-metadata';
import { pino, type Logger } from 'pino';
import { ConfigError, loadConfig, publicUrlAt, type Config } from '../config/config.js';
import { isStoreAway, type Core } from '../core/core.js';
import { errorName, firstLine } from '../foundation/describe-error.js';
import { makeDemoTenant } from '../operations/tenants/demo-tenant.js';
import { linesOfATurn } from './log-lines.js';
import { startService, type Service } from './service.js';
import { endAtUnknownErrors } from './unknown-errors.js';

const LATER_MS = 1_000;

/** More find no more connections in a turn of a busy event loop, and each looks at every one. */
const ACCEPTORS = 16;

/** Starts the service and stops it on SIGTERM or SIGINT. A failed start is reported in one line. */
async function main(): Promise<void> {
  const config = loadConfig();
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  const { lines, close } = linesOfATurn(1);
  process.on('exit', close);
  const logger = pino(options, lines);
  endAtUnknownErrors(logger);
  const version = ownVersion();
  const embedded = config.databaseUrl === undefined;
  let banner: ((url: string) => string) | undefined;
  let late: ReturnType<typeof makeDemoTenant> | undefined;
  const starting = startService({
    config,
    logger,
    version,
    acceptorsPerAddress: ACCEPTORS,
    prepare: async (core) => {
      if (!embedded) return;
      try {
        banner = await makeDemoTenant(core);
      } catch (error) {
        // The log is remote and unavailable: the service starts anyway, and the tenant is created
        // when the log answers.
        if (!isStoreAway(error)) throw error;
        late = makeDemoTenantLater(core);
      }
    },
  });
  stopOnSignals(starting, config, logger);
  try {
    const { url, operationsUrl } = await starting;
    logger.info({ url, operationsUrl, version, roles: [...config.roles] }, 'listening');
    if (banner) process.stdout.write(banner(url));
    const lateBanner = await late;
    if (lateBanner) process.stdout.write(lateBanner(url));
  } catch (error) {
    // The tenant exists and its keys are shown only once, so they are shown although this start
    // failed, e.g. for its port.
    if (banner) process.stdout.write(banner(publicUrlAt(config, config.port)));
    throw error;
  }
}

/** From the nearest package.json above this file; the bundle is in another folder. */
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
 * Also during the start: the service is then stopped as soon as it has started, so that no embedded
 * Postgres is left running.
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
    // The process ends even if a part hangs; acknowledged writes are in the log.
    setTimeout(() => process.exit(1), shutdownGraceMs + 20_000).unref();
    void starting.then(
      (service) => endAfter(service.stop(), logger),
      // A failed start has cleaned up and reports its reason.
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
    logger.error({ error: errorName(error) }, 'the service did not stop cleanly');
    process.exit(1);
  }
}

main().catch((error: unknown) => {
  const lines = error instanceof ConfigError ? error.problems : [firstLine(error)];
  for (const line of lines) process.stderr.write(`${line.split('\n')[0] ?? ''}\n`);
  process.exit(1);
});
