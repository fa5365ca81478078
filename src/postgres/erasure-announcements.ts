import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const CHANNEL = 'ledger_erased';
/** A notification has at most 8000 bytes, an id 37 with its comma. */
const SUBJECTS_PER_NOTIFICATION = 200;

/** Announces to every process whose keys were erased. */
export async function announceErasure(pool: Pool, subjects: readonly string[]): Promise<void> {
  for (let start = 0; start < subjects.length; start += SUBJECTS_PER_NOTIFICATION)
    await pool.query('select pg_notify($1, $2)', [
      CHANNEL,
      subjects.slice(start, start + SUBJECTS_PER_NOTIFICATION).join(','),
    ]);
}

/**
 * Listens for announced erasures. Notifications may be lost with the connection: each time it is
 * opened anew, `onErased` is called for all subjects (undefined).
 */
export function listenForErasures(
  pool: Pool,
  onErased: (subjects: readonly string[] | undefined) => void,
): KeptConnection {
  return new KeptConnection(pool, async (client) => {
    client.on('notification', ({ payload }) => {
      if (payload) onErased(payload.split(','));
    });
    await client.query(`listen ${CHANNEL}`);
    onErased(undefined);
  });
}
