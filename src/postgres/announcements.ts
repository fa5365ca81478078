import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const ERASED = 'ledger_erased';
const TENANT_CHANGED = 'ledger_tenant_changed';
/** A notification has at most 8000 bytes, an id 37 with its comma. */
const SUBJECTS_PER_NOTIFICATION = 200;

/** Announces erased subjects to every process. */
export async function announceErasure(pool: Pool, subjects: readonly string[]): Promise<void> {
  for (let start = 0; start < subjects.length; start += SUBJECTS_PER_NOTIFICATION)
    await pool.query('select pg_notify($1, $2)', [
      ERASED,
      subjects.slice(start, start + SUBJECTS_PER_NOTIFICATION).join(','),
    ]);
}

/** A lost notification costs seconds: a cached tenant soon expires anyway. */
export async function announceTenant(pool: Pool, alias: string): Promise<void> {
  await pool.query('select pg_notify($1, $2)', [TENANT_CHANGED, alias]);
}

export interface AnnouncementListener {
  onErased(subjects: readonly string[] | undefined): void;
  onTenantChanged(alias: string | undefined): void;
}

/** Each new connection calls both for all (undefined): notifications may have been lost. */
export function listenForAnnouncements(pool: Pool, listener: AnnouncementListener): KeptConnection {
  return new KeptConnection(pool, async (client) => {
    client.on('notification', ({ channel, payload }) => {
      if (!payload) return;
      if (channel === ERASED) listener.onErased(payload.split(','));
      else listener.onTenantChanged(payload);
    });
    await client.query(`listen ${ERASED}; listen ${TENANT_CHANGED}`);
    listener.onErased(undefined);
    listener.onTenantChanged(undefined);
  });
}
