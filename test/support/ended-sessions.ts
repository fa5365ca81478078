/**
 * Ends client sessions on the test's database but the own one. @param condition in SQL, optional.
 */
export const END_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and backend_type = 'client backend'`;
