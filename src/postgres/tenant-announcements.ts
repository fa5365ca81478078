import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const CHANNEL = 'ledger_tenant_changed';

/**
 * Tells every process that a tenant changed. A word that is lost costs seconds: what is known of a
 * tenant is trusted no longer anyway.
 */
export async function announceTenant(pool: Pool, alias: string): Promise<void> {
  await pool.query('select pg_notify($1, $2)', [CHANNEL, alias]);
}

/**
 * Hears it. `onChange` is called with the tenant's alias. Words may be lost with the connection:
 * each time it stands anew, it is called for all tenants (undefined).
 */
export function hearTenants(
  pool: Pool,
  onChange: (alias: string | undefined) => void,
): KeptConnection {
  return new KeptConnection(pool, async (client) => {
    client.on('notification', ({ payload }) => {
      if (payload) onChange(payload);
    });
    await client.query(`listen ${CHANNEL}`);
    onChange(undefined);
  });
}
