import { createHmac } from 'node:crypto';
import pg from 'pg';
import { LOCKS } from '../postgres/locks.js';

/** An ordinary role, which owns the database and nothing else. */
export const SERVICE_ROLE = 'ledger_service';

/** Derived from the superuser's password in one direction: there is no second file to lose. */
export const servicePassword = (superuserPassword: string): string =>
  createHmac('sha256', superuserPassword).update(SERVICE_ROLE).digest('hex');

/** Further rights for the scrub: it reads old transactions, and cuts the write-ahead log. */
const PROVISION = (password: string): string => `
  do $$
  begin
    if not exists (select from pg_roles where rolname = '${SERVICE_ROLE}') then
      create role ${SERVICE_ROLE} login password '${password}';
    end if;
    grant pg_checkpoint, pg_read_all_stats to ${SERVICE_ROLE};
    grant execute on function pg_switch_wal() to ${SERVICE_ROLE};
    execute format('alter database %I owner to ${SERVICE_ROLE}', current_database());
  end $$`;

/** Repeatable. @param superuser how to connect to the database of the service. */
export async function provisionServiceRole(
  superuser: pg.ClientConfig,
  password: string,
): Promise<void> {
  const client = new pg.Client(superuser);
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin');
    // Several processes may attach concurrently.
    await client.query('select pg_advisory_xact_lock($1)', [LOCKS['provision service role']]);
    await client.query(PROVISION(password));
    await client.query('commit');
  } finally {
    await client.end().catch(() => undefined);
  }
}
