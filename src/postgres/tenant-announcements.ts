import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const CHANNEL = 'ledger_tenant_changed';

/**
 * Announces to every process that a tenant changed. A lost notification costs seconds: a remembered
 * tenant soon expires anyway.
 */
export async function announceTenant(pool: Pool, alias: string): Promise<void> {
  await pool.query('select pg_notify($1, $2)', [CHANNEL, alias]);
}

/**
 * Listens for changed tenants. `onChange` is called with the alias. Notifications may be lost with
 * the connection: each time it is opened anew, `onChange` is called for all tenants (undefined).
 */
export function listenForTenants(
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
