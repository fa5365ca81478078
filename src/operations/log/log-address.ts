import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { openEventStoreDbLog } from '../../stores/core.js';
import type { LedgerDatabase } from '../../stores/ledger-database.js';
import { startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.js';
import type { EventLog } from '../../event-log/event-log.js';
import {
  InvalidEventStoreUrl,
  parseEventStoreUrl,
  type EventStoreAddress,
} from '../../config/event-store-url.js';
import { PostgresEventLog } from '../../event-log/postgres/postgres-event-log.js';
import { migrateToLatest } from '../../postgres/migrator.js';
import { notDone, notDoneAbout } from '../outcome.js';

export interface OpenLog {
  readonly log: EventLog;
  close(): Promise<void>;
}

interface LogSurroundings {
  readonly config: Config;
  readonly database: LedgerDatabase;
  readonly logger: Logger;
}

/**
 * Opens a log for copying: which log the database of the configuration follows is not checked.
 * @param isTarget a Postgres that the log is copied to gets the schema.
 * @throws {NotDone}
 */
type LogOpener = (isTarget: boolean, surroundings: LogSurroundings) => Promise<OpenLog>;

/**
 * The log at an address, as the operator typed it: it may contain passwords.
 * @param argument the name of the argument: `from`.
 * @throws {NotDone} It quotes no value.
 */
export function logAt(argument: string, text: string): LogOpener {
  if (text === 'embedded') return openEmbedded;
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
    return (isTarget) => openPostgres(() => text, isTarget);
  if (!/^esdb(\+discover)?:\/\//.test(text))
    throw notDoneAbout(
      argument,
      (word) =>
        `${word(argument)} must be the address of a log: postgresql://…, esdb://…, or the word embedded`,
    );
  const address = eventStoreAt(argument, text);
  return async (_, { config, database: { names } }) => {
    // A copy keeps the times of its events, whatever the clock of this process says.
    const log = await openEventStoreDbLog(address, config, names, { acceptsClock: true });
    return { log, close: () => log.close() };
  };
}

function eventStoreAt(argument: string, text: string): EventStoreAddress {
  try {
    return parseEventStoreUrl(text);
  } catch (error) {
    if (!(error instanceof InvalidEventStoreUrl)) throw error;
    throw notDoneAbout(argument, (word) => `${word(argument)} ${error.message}`);
  }
}

const openEmbedded: LogOpener = async (isTarget, { config: { dataDir }, database, logger }) => {
  if (database.embedded !== undefined) return openPostgres(database.url, isTarget);
  const server = await startEmbeddedPostgres({ dataDir, logger });
  return openPostgres(
    () => server.url,
    isTarget,
    () => server.stop(),
  );
};

const UNDEFINED_TABLE = '42P01';

/** @param end called when the log is closed, or was not opened. */
async function openPostgres(
  url: () => string,
  isTarget: boolean,
  end: () => Promise<void> = () => Promise.resolve(),
): Promise<OpenLog> {
  try {
    if (isTarget) await migrateToLatest(url());
    const log = await PostgresEventLog.open({ url, acceptsClock: true });
    return { log, close: () => log.close().then(end) };
  } catch (error) {
    await end();
    if (error instanceof Error && 'code' in error && error.code === UNDEFINED_TABLE)
      throw notDone('there is no log of this service at that address');
    throw error;
  }
}
