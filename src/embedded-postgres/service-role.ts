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
 * Everything in the database is the role's, also what a release made as superuser.
 */
const PROVISION = (password: string): string => `
  do $$
  declare statement text;
  begin
    if not exists (select from pg_roles where rolname = '${SERVICE_ROLE}') then
      create role ${SERVICE_ROLE} login password '${password}';
    end if;
    grant pg_checkpoint, pg_read_all_stats to ${SERVICE_ROLE};
    grant execute on function pg_switch_wal() to ${SERVICE_ROLE};
    for statement in
      with foreign_object as (
        select oid, nspname as name, nspowner as owner from pg_namespace
        where nspname !~ '^pg_' and nspname <> 'information_schema' and nspname <> 'public'
      )
      select format('alter schema %I owner to ${SERVICE_ROLE}', name) from foreign_object
        where owner <> '${SERVICE_ROLE}'::regrole
      union all
      select format('alter table %s owner to ${SERVICE_ROLE}', c.oid::regclass) from pg_class c
        join foreign_object s on s.oid = c.relnamespace
        where relkind in ('r', 'p', 'v', 'm', 'S') and relowner <> '${SERVICE_ROLE}'::regrole
          and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
            and d.objid = c.oid and d.deptype in ('a', 'i', 'e') and d.refobjsubid <> 0)
      union all
      select format('alter routine %s owner to ${SERVICE_ROLE}', p.oid::regprocedure) from pg_proc p
        join foreign_object s on s.oid = p.pronamespace
        where proowner <> '${SERVICE_ROLE}'::regrole
      union all
      select format('alter type %s owner to ${SERVICE_ROLE}', t.oid::regtype) from pg_type t
        join foreign_object s on s.oid = t.typnamespace
        where typtype in ('e', 'd', 'c') and typowner <> '${SERVICE_ROLE}'::regrole
          and not exists (select from pg_class c where c.reltype = t.oid and relkind <> 'c')
    loop
      execute statement;
    end loop;
    execute format('alter database %I owner to ${SERVICE_ROLE}', current_database());
  end $$`;

/**
 * Makes the service's role where it is missing, and the owner of the database and of all that is in
 * it. Repeatable.
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
