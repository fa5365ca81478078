-- The image of Postgres runs this once, as superuser, when it makes the database: docs/how-to/use-your-own-postgres.md.
\getenv password POSTGRES_PASSWORD
create role ledger login password :'password' nosuperuser nocreatedb nocreaterole noreplication;
create database ledger owner ledger encoding 'UTF8' template template0;
revoke connect, temporary on database ledger from public;
grant pg_checkpoint, pg_read_all_stats to ledger;
\connect ledger
grant execute on function pg_switch_wal() to ledger;
-- The password is the role's alone. The superuser gets in from inside the container, and from nowhere else.
alter role postgres password null;
