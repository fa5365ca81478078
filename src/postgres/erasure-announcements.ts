import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const CHANNEL = 'ledger_erased';
/** A word has 8000 bytes at most, an id 37 with its comma. */
const SUBJECTS_A_WORD = 200;

/** Tells every process whose key was destroyed. */
export async function announceErasure(pool: Pool, subjects: readonly string[]): Promise<void> {
  for (let start = 0; start < subjects.length; start += SUBJECTS_A_WORD)
    await pool.query('select pg_notify($1, $2)', [
      CHANNEL,
      subjects.slice(start, start + SUBJECTS_A_WORD).join(','),
    ]);
}

/**
 * Hears it. Words may be lost with the connection: each time it stands anew, `onErased` is called
 * for everybody (undefined).
 */
export function hearErasures(
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
