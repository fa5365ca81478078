import { accountProjectors } from '../../projections/account-projectors.js';
import { loadConfig, publicUrlAt } from '../config/config.js';
import type { Core } from '../stores/core.js';
import { writeExportsHere } from '../operations/exports/write-exports-here.js';
import { commandLogger } from './command-line.js';

/**
 * The service writes the exports. While none runs on this database, the command does so itself: it
 * follows the log with the read models, and writes what waits.
 */
export function whileExportsAreWritten<T>(core: Core, work: () => Promise<T>): Promise<T> {
  const config = loadConfig();
  const publicUrl = config.publicUrl ?? publicUrlAt(config, config.port);
  const logger = commandLogger();
  return writeExportsHere({ core, projectors: accountProjectors, logger, publicUrl }, work);
}
