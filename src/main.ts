import { readFileSync } from 'node:fs';
import 'reflect-metadata';
import { pino } from 'pino';
import { ConfigError, loadConfig } from './config.js';
import { makeDemoTenant } from './operations/demo-tenant.js';
import { startService } from './service.js';

/** Starts the service and stops it on SIGTERM or SIGINT. What cannot be started is said in one line. */
async function main(): Promise<void> {
  const config = loadConfig();
  const logger = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const embedded = config.databaseUrl === undefined;
  let welcome: ((url: string) => string) | undefined;
  const service = await startService({
    ...{ config, logger, version },
    prepare: async (core) => {
      if (embedded) welcome = await makeDemoTenant(core);
    },
  });
  logger.info({ url: service.url, version, roles: [...config.roles] }, 'listening');
  if (welcome) process.stdout.write(welcome(service.url));

  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ signal }, 'stopping');
    // Whatever hangs, the process ends; what was acknowledged is in the log.
    setTimeout(() => process.exit(1), config.shutdownGraceMs + 20_000).unref();
    service.stop().then(
      () => {
        logger.info({}, 'stopped');
        process.exit(0);
      },
      (error: unknown) => {
        logger.error({ error: error instanceof Error ? error.name : 'unknown error' }, 'the stop was not clean');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

main().catch((error: unknown) => {
  const lines = error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : 'unknown error'];
  for (const line of lines) process.stderr.write(`${line.split('\n')[0] ?? ''}\n`);
  process.exit(1);
});
