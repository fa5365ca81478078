import { createHmac } from 'node:crypto';
import pg from 'pg';
import { LOCKS } from '../postgres/locks.js';

/** The role of the service: an ordinary one, which owns the database and nothing else. */
export const SERVICE_ROLE = 'ledger_service';

/**
 * The role's password, derived from the superuser's in one direction: there is no second file to
 * lose.
 */
export const servicePassword = (superuserPassword: string): string =>
  createHmac('sha256', superuserPassword).update(SERVICE_ROLE).digest('hex');

/**
 * What the role may do besides: the scrub sees old transactions, and cuts the write-ahead log.
 */
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

/**
 * Makes the service's role where it is missing, and the owner of the database. Repeatable.
 * @param superuser how to connect as superuser to the database of the service.
 */
export async function provisionServiceRole(
  superuser: pg.ClientConfig,
  password: string,
): Promise<void> {
  const client = new pg.Client(superuser);
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('begin');
    // Several processes may attach at once.
    await client.query('select pg_advisory_xact_lock($1)', [LOCKS['provision service role']]);
    await client.query(PROVISION(password));
    await client.query('commit');
  } finally {
    await client.end().catch(() => undefined);
  }
}
