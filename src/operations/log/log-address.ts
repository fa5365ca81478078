import type { Logger } from 'pino';
import type { Config } from '../../config/config.js';
import { openEventStoreDbLog } from '../../core/core.js';
import type { LedgerDatabase } from '../../core/ledger-database.js';
import { startEmbeddedPostgres } from '../../embedded-postgres/embedded-postgres.js';
import type { EventLog } from '../../event-log/event-log.js';
import {
  InvalidEventStoreUrl,
  parseEventStoreUrl,
  type EventStoreAddress,
} from '../../event-log/event-store-url.js';
import { PostgresEventLog } from '../../event-log/postgres/postgres-event-log.js';
import { migrateToLatest } from '../../postgres/migrator.js';
import { CommandError } from '../command-error.js';

/** Where a log is, as an operator names it. Holds passwords. */
export type LogAddress =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'eventstoredb'; readonly address: EventStoreAddress };

/**
 * @param option what the operator gave it as: `--from`. @throws {CommandError} that quotes no
 * value, which may hold a password.
 */
export function parseLogAddress(option: string, text: string): LogAddress {
  if (text === 'embedded') return { kind: 'embedded' };
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text))
    return { kind: 'postgres', url: text };
  if (!/^esdb(\+discover)?:\/\//.test(text)) {
    throw new CommandError(
      `${option} must be the address of a log: postgresql://…, esdb://…, or the word embedded`,
    );
  }
  try {
    return { kind: 'eventstoredb', address: parseEventStoreUrl(text) };
  } catch (error) {
    throw error instanceof InvalidEventStoreUrl
      ? new CommandError(`${option} ${error.message}`)
      : error;
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
 * Opens a log for copying, not for following: what the database of the configuration follows is not
 * asked.
 * @param isTarget a Postgres that is to take a log is given our schema.
 */
export async function openLogAt(
  address: LogAddress,
  isTarget: boolean,
  { config, database, logger }: LogSurroundings,
): Promise<OpenLog> {
  switch (address.kind) {
    case 'eventstoredb': {
      const log = await openEventStoreDbLog(address.address, config, database.names);
      return { log, close: () => log.close() };
    }
    case 'postgres':
      return openPostgres(() => address.url, isTarget);
    case 'embedded': {
      if (database.embedded !== undefined) return openPostgres(database.url, isTarget);
      const server = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
      try {
        return await openPostgres(
          () => server.url,
          isTarget,
          () => server.stop(),
        );
      } catch (error) {
        await server.stop();
        throw error;
      }
    }
  }
}

const UNDEFINED_TABLE = '42P01';

async function openPostgres(
  url: () => string,
  isTarget: boolean,
  then?: () => Promise<void>,
): Promise<OpenLog> {
  if (isTarget) await migrateToLatest(url());
  try {
    const log = await PostgresEventLog.open({ url });
    const close = async (): Promise<void> => {
      await log.close();
      await then?.();
    };
    return { log, close };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === UNDEFINED_TABLE)
      throw new CommandError('no log of this service stands there');
    throw error;
  }
}
