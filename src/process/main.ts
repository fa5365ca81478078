import { setTimeout as delay } from 'node:timers/promises';
import 'reflect-metadata';
import { pino, type Logger } from 'pino';
import { ConfigError, loadConfig, type Config } from '../config/config.js';
import { isStoreUnavailable } from '../stores/core.js';
import { ownVersion } from '../foundation/own-version.js';
import { errorName } from '../foundation/describe-error.js';
import { firstStartText } from './first-start.js';
import { helpText } from './help.js';
import { lineFormat } from './log-lines.js';
import { startService, type Service } from './service.js';
import { startFailure } from './start-failure.js';
import { exitOnUnhandledErrors } from './unhandled-errors.js';

const LATER_MS = 1_000;

/** Starts the service and stops it on SIGTERM or SIGINT. */
async function main(config: Config): Promise<void> {
  const format = await lineFormat(config.logFormat, process.stdout.isTTY);
  const stdout = pino.destination({ fd: 1, sync: true });
  const logger = pino(
    { level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => stdout.write(format(line)) },
  );
  exitOnUnhandledErrors(logger);
  const version = ownVersion();
  let late: Promise<void> | undefined;
  const starting = startService({
    config,
    logger,
    version,
    onListening: async (core, at) => {
      logger.info({ ...at, version, roles: [...config.roles] }, 'listening');
      const printed = async (): Promise<void> => {
        const text = await firstStartText(core, config, at, logger);
        process.stdout.write(text ?? '');
      };
      await printed().catch((error: unknown) => {
        // A remote log may be unavailable at the start.
        if (!isStoreUnavailable(error)) throw error;
        late = retryUntilStoresAnswer(printed);
      });
    },
  });
  stopOnSignals(starting, config, logger);
  await starting;
  await late;
}

async function retryUntilStoresAnswer(work: () => Promise<void>): Promise<void> {
  for (;;) {
    await delay(LATER_MS);
    try {
      return await work();
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
    }
  }
}

/** Also during the start, which first completes, so that no embedded Postgres is left running. */
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
    // Ends the process even if a part hangs; acknowledged writes are in the log.
    setTimeout(() => process.exit(1), shutdownGraceMs + 20_000).unref();
    void starting.then(
      (service) => exitAfter(service.stop(), logger),
      // A failed start has cleaned up and reports its reason itself.
      () => undefined,
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

async function exitAfter(stopped: Promise<void>, logger: Logger): Promise<void> {
  try {
    await stopped;
    logger.info({}, 'stopped');
    process.exit(0);
  } catch (error) {
    logger.error({ error: errorName(error) }, 'the service did not stop cleanly');
    process.exit(1);
  }
}

function fail(lines: readonly string[]): never {
  for (const line of lines) process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** Undefined: the arguments request help. @throws {ConfigError} */
function configOfStart([argument]: readonly string[]): Config | undefined {
  if (argument === '--help' || argument === '-h') return undefined;
  if (argument === undefined) return loadConfig();
  throw new ConfigError([
    `npm start does not take the argument ${argument}: settings are environment variables, see npm start -- --help`,
  ]);
}

try {
  const config = configOfStart(process.argv.slice(2));
  if (config === undefined) process.stdout.write(helpText());
  else main(config).catch((error: unknown) => fail(startFailure(error, config)));
} catch (error) {
  fail(startFailure(error, undefined));
}
