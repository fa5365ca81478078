import { sql, type Kysely } from 'kysely';

/**
 * The service's own keys, one after the other for each purpose, each encrypted with every master key in use. So the master key can be replaced,
 * while names and signatures stay; and a process of this release is known by the master key that it was started with.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table vault.master_keys (
      -- Derived from the key.
      id text collate "C" primary key,
      -- The highest one is in use; the others are on their way out.
      number integer generated always as identity,
      added_at timestamptz not null default now(),
      -- From then on no key of a person is encrypted with a key from before.
      rewrapped_at timestamptz,
      -- From then on it opens nothing here.
      retired_at timestamptz
    )`.execute(db);
  await sql`
    create table vault.service_keys (
      purpose text collate "C" not null,
      -- From 1; sealed bytes name it. New ones are sealed with the highest.
      generation integer not null,
      master_key text collate "C" not null references vault.master_keys,
      wrapped bytea not null,
      created_at timestamptz not null default now(),
      primary key (purpose, generation, master_key)
    )`.execute(db);
  await sql`
    create table vault.master_key_processes (
      -- The number of the advisory lock that the process holds while it lives.
      process bigint primary key,
      master_key text collate "C" not null references vault.master_keys
    )`.execute(db);
}
