/**
 * Ends the sessions of clients on one's own database, but not the session that asks; a condition
 * may follow (`and application_name = …`). A worker of autovacuum is in `pg_stat_activity`, too:
 * an ordinary role may not end it, and the whole statement would fail.
 */
export const END_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend'`;
