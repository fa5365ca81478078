import { constants, setPriority } from 'node:os';
import type { Pool } from 'pg';

/**
 * The processes that serve these connections have the processor when others leave it: of a server
 * on this machine, started by this user. For long statements beside requests.
 */
export function yieldProcessor(pool: Pool): void {
  pool.on('connect', (client) => {
    const pid: unknown = Reflect.get(client, 'processID');
    if (typeof pid === 'number') setLow(pid);
  });
}

function setLow(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system does not allow it: it works like all others.
  }
}
