import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { CLIENTS_MIN, type Config } from '../config/config.js';

/** Files that the process opens besides its clients' connections: to the stores, logs, modules. */
const OWN_FILES = 256;

/**
 * CONNECTIONS_MAX, or fewer where the system lets the process open too few files: beyond that limit
 * the connections to the stores would fail, too.
 */
export async function connectionsMax(
  { connectionsMax: wanted }: Pick<Config, 'connectionsMax'>,
  logger: Pick<Logger, 'warn'>,
): Promise<number> {
  const possible = Math.max(CLIENTS_MIN, (await openFilesMax()) - OWN_FILES);
  if (wanted <= possible) return wanted;
  logger.warn({ wanted, possible }, 'the limit on open files leaves room for fewer connections');
  return possible;
}

/** Infinite where the system does not say. */
async function openFilesMax(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? Infinity : Number(soft);
}
