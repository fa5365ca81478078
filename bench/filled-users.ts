import type { Pool } from 'pg';

/** Writes users of the tenant `demo` into the read model, some 600 bytes each. */
export async function fillUsers(pool: Pool, users: number): Promise<void> {
  await pool.query(
    `insert into rm_users_1.users (person, tenant, mode, account_ref, user_id, email, first_name, last_name, search, profile, primary_codes, date_created, date_changed)
     select 'person-' || n, 'demo', 'live', 'account-' || n, 'u' || n, 'user' || n || '@example.com', 'Mara', n % 1000 || '',
            concat('user', n, '@example.com', chr(31), 'mara ', n % 1000, chr(31), 'u', n),
            json_build_object('id', 'u' || n, 'email', 'user' || n || '@example.com', 'firstName', 'Mara', 'lastName', n % 1000 || '', 'pad', repeat(md5(n::text), 8)),
            '{}', 1795000000000 + n, 1795000000000 + n
       from generate_series(1, $1::int) as n`,
    [users],
  );
  await pool.query(
    `insert into rm_users_1.user_counts values ('demo', 'live', $1) on conflict (tenant, mode) do update set users = excluded.users`,
    [users],
  );
  await pool.query('vacuum analyze rm_users_1.users');
}
