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

/** The address of a log, as the operator typed it. Contains passwords. */
export type LogAddress =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'eventstoredb'; readonly address: EventStoreAddress };

/**
 * @param argument the name of the argument: `from`.
 * @throws {NotDone} It quotes no value, which may contain a password.
 */
export function parseLogAddress(argument: string, text: string): LogAddress {
  if (text === 'embedded') return { kind: 'embedded' };
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
    return { kind: 'postgres', url: text };
  if (!/^esdb(\+discover)?:\/\//.test(text))
    throw notDoneAbout(
      argument,
      (word) =>
        `${word(argument)} must be the address of a log: postgresql://…, esdb://…, or the word embedded`,
    );
  try {
    return { kind: 'eventstoredb', address: parseEventStoreUrl(text) };
  } catch (error) {
    if (!(error instanceof InvalidEventStoreUrl)) throw error;
    throw notDoneAbout(argument, (word) => `${word(argument)} ${error.message}`);
  }
}

export interface OpenLog {
  readonly log: EventLog;
  close(): Promise<void>;
}

export interface LogSurroundings {
  readonly config: Config;
  readonly database: LedgerDatabase;
  readonly logger: Logger;
}

/**
 * Opens a log for copying: which log the database of the configuration follows is not checked.
 * @param isTarget a Postgres that the log is copied to gets the schema.
 * @throws {NotDone}
 */
export async function openLogAt(
  address: LogAddress,
  isTarget: boolean,
  { config, database, logger }: LogSurroundings,
): Promise<OpenLog> {
  switch (address.kind) {
    case 'eventstoredb': {
      // A copy keeps the times of its events, whatever the clock of this process says.
      const log = await openEventStoreDbLog(address.address, config, database.names, {
        acceptsClock: true,
      });
      return { log, close: () => log.close() };
    }
    case 'postgres':
      return openPostgres(() => address.url, isTarget);
    case 'embedded': {
      if (database.embedded !== undefined) return openPostgres(database.url, isTarget);
      const server = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
      return openPostgres(
        () => server.url,
        isTarget,
        () => server.stop(),
      );
    }
  }
}

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
