import { sql, type RawBuilder } from 'kysely';
import type { PoolClient } from 'pg';
import { fetchRow, fetchRows, run } from '../postgres/statements.js';
import { inTransactionOf } from '../postgres/transaction.js';

/** A table, and what a copy of it needs. */
interface Repacked {
  readonly schema: string;
  readonly name: string;
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];

  readonly options: readonly string[];
  /** The statement that makes it. */
  readonly comment: string;
  readonly indexes: readonly Index[];
}

interface Index {
  readonly name: string;
  readonly isUnique: boolean;
  /** From `using` on. */
  readonly rest: string;
  readonly constraint: 'p' | 'u' | null;
  /** The statement that makes it. */
  readonly comment: string;
}

/** A catch-up that leaves no more changes than this is followed by the switch. */
const FEW_CHANGES = 1_000;
const CATCH_UPS_MAX = 20;

/**
 * Copies the rows of a table into a new one that takes its place, with all its names: what is not a
 * row any more stays behind in the old file, which goes. Reads and writes of the table continue
 * meanwhile; a trigger notes the rows that change, and they are copied again. Only the begin and
 * the switch, milliseconds each, wait for others and have others wait.
 * @param whenFree runs a transaction that needs the table for itself, again while it is not free.
 * @returns false: the table has what cannot be copied so (no primary key, foreign keys, numbers of
 *   its own); nothing was done.
 */
export async function repack(
  client: PoolClient,
  table: { readonly schema: string; readonly name: string },
  whenFree: (work: () => Promise<void>) => Promise<void>,
): Promise<boolean> {
  const repacked = await describe(client, table);
  if (!repacked) return false;
  await whenFree(() => removeLeftovers(client, table));
  await whenFree(() => begin(client, repacked));
  await run(client, sql`insert into ${copyOf(table)} select * from ${original(table)}`);
  await makeIndexes(client, repacked);
  for (let times = 0; times < CATCH_UPS_MAX; times++)
    if ((await catchUp(client, repacked)) <= FEW_CHANGES) break;
  await run(client, sql`analyze ${copyOf(table)}`);
  await whenFree(() => takePlace(client, repacked));
  return true;
}

/** Removes what a repacking left that did not end. */
async function removeLeftovers(
  client: PoolClient,
  table: { readonly schema: string; readonly name: string },
): Promise<void> {
  const left = await fetchRow(
    client,
    sql<{
      left: boolean;
    }>`select to_regclass(${`"${table.schema}"."${copyName(table)}"`}) is not null
      or to_regclass(${`"${table.schema}"."${changesName(table)}"`}) is not null as left`,
  );
  if (!left?.left) return;
  await run(client, sql`drop function if exists ${noteOf(table)}() cascade`);
  await run(client, sql`drop table if exists ${changesOf(table)}, ${copyOf(table)}`);
}

type Named = Pick<Repacked, 'schema' | 'name'>;

// Postgres cuts names at 63 bytes; those of our tables are far shorter.
const copyName = ({ name }: Named): string => `${name}__copy`;
const changesName = ({ name }: Named): string => `${name}__changes`;

const original = ({ schema, name }: Named): RawBuilder<unknown> => sql.id(schema, name);
const copyOf = (table: Named): RawBuilder<unknown> => sql.id(table.schema, copyName(table));
const changesOf = (table: Named): RawBuilder<unknown> => sql.id(table.schema, changesName(table));
const noteOf = (table: Named): RawBuilder<unknown> =>
  sql.id(table.schema, `${table.name}__note_change`);

/** Part of a definition that Postgres itself wrote down. */
// eslint-disable-next-line no-restricted-syntax -- a definition cannot be a parameter
const catalogued = (definition: string): RawBuilder<unknown> => sql.raw(definition);

const list = (names: readonly string[], of?: string): RawBuilder<unknown> =>
  sql.join(names.map((name) => (of === undefined ? sql.id(name) : sql.id(of, name))));

async function describe(client: PoolClient, table: Named): Promise<Repacked | undefined> {
  const about = await fetchRow(
    client,
    sql<{
      key: readonly string[];
      options: readonly string[];
      comment: string;
      plain: boolean;
    }>`
      select
        array(select a.attname::text from pg_index i cross join lateral unnest(i.indkey) with ordinality as k (attnum, place)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
          where i.indrelid = c.oid and i.indisprimary order by k.place) as key,
        coalesce(c.reloptions, '{}') as options, format('comment on table %I.%I is %L', ${table.schema}::text, c.relname, obj_description(c.oid, 'pg_class')) as comment,
        c.relkind = 'r'
          and not exists (select from pg_constraint where (conrelid = c.oid and contype in ('f', 'x', 't')) or confrelid = c.oid)
          and not exists (select from pg_trigger where tgrelid = c.oid and not tgisinternal and tgname <> ${NOTE_TRIGGER})
          and not exists (select from pg_attribute where attrelid = c.oid and (attidentity <> '' or attgenerated <> ''))
          and not exists (select from pg_depend where refobjid = c.oid and deptype = 'a' and classid = 'pg_class'::regclass
            and objid in (select oid from pg_class where relkind = 'S')) as plain
      from pg_class c where c.relnamespace = ${table.schema}::regnamespace and c.relname = ${table.name}`,
  );
  if (!about?.plain || about.key.length === 0) return undefined;
  return { ...table, ...about, indexes: await indexesOf(client, table) };
}

async function indexesOf(client: PoolClient, table: Named): Promise<readonly Index[]> {
  return fetchRows(
    client,
    sql<Index>`
      select c.relname as name, i.indisunique as "isUnique",
        substring(pg_get_indexdef(i.indexrelid) from ' (USING .*)$') as rest,
        (select contype from pg_constraint where conindid = i.indexrelid and conrelid = i.indrelid and contype in ('p', 'u')) as constraint,
        format('comment on index %I.%I is %L', ${table.schema}::text, c.relname, obj_description(i.indexrelid, 'pg_class')) as comment
      from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = (select oid from pg_class where relnamespace = ${table.schema}::regnamespace and relname = ${table.name})
      order by i.indisprimary desc, c.relname`,
  );
}

const NOTE_TRIGGER = 'note_change';

/** From the end of this transaction on, each changed row is noted. */
function begin(client: PoolClient, table: Repacked): Promise<void> {
  const { schema, name, key, options } = table;
  return inTransactionOf(client, async () => {
    await run(
      client,
      sql`create table ${copyOf(table)} (like ${original(table)} including all excluding indexes)`,
    );
    if (options.length > 0)
      await run(client, sql`alter table ${copyOf(table)} set (${catalogued(options.join(', '))})`);
    await run(
      client,
      sql`create unlogged table ${changesOf(table)} as select ${list(key)} from ${original(table)} with no data`,
    );
    const noted = (row: string): RawBuilder<unknown> =>
      sql`insert into ${changesOf(table)} select ${list(key, row)};`;
    await run(
      client,
      sql`create function ${noteOf(table)}() returns trigger language plpgsql as $note$
        begin
          if tg_op <> 'INSERT' then ${noted('old')} end if;
          if tg_op <> 'DELETE' then ${noted('new')} end if;
          return null;
        end $note$`,
    );
    await run(
      client,
      sql`create trigger ${sql.id(NOTE_TRIGGER)} after insert or update or delete on ${sql.id(schema, name)}
        for each row execute function ${noteOf(table)}()`,
    );
  });
}

async function makeIndexes(client: PoolClient, table: Repacked): Promise<void> {
  for (const { name, isUnique, rest, constraint } of table.indexes) {
    const made = temporary(name);
    await run(
      client,
      sql`create ${catalogued(isUnique ? 'unique index' : 'index')} ${sql.id(made)} on ${copyOf(table)} ${catalogued(rest)}`,
    );
    if (constraint !== null)
      await run(
        client,
        sql`alter table ${copyOf(table)} add constraint ${sql.id(made)}
          ${catalogued(constraint === 'p' ? 'primary key' : 'unique')} using index ${sql.id(made)}`,
      );
  }
}

const temporary = (index: string): string => `${index.slice(0, 55)}__copy`;

/** Copies the noted rows again. @returns how many were noted. */
function catchUp(client: PoolClient, table: Repacked): Promise<number> {
  return inTransactionOf(client, async () => {
    // The rows are read as they were when the notes were taken.
    await client.query('set transaction isolation level repeatable read');
    return copyNoted(client, table);
  });
}

async function copyNoted(client: PoolClient, table: Repacked): Promise<number> {
  const { key } = table;
  const noted = sql.table('repack_noted');
  await run(
    client,
    sql`create temporary table ${noted} on commit drop as select ${list(key)} from ${changesOf(table)} with no data`,
  );
  const count = await run(
    client,
    sql`with taken as (delete from ${changesOf(table)} returning *) insert into ${noted} select * from taken`,
  );
  if (count === 0) return 0;
  const same = (row: string): RawBuilder<unknown> =>
    sql`(${list(key, row)}) in (select ${list(key)} from ${noted})`;
  await run(client, sql`delete from ${copyOf(table)} as copied where ${same('copied')}`);
  await run(
    client,
    sql`insert into ${copyOf(table)} select * from ${original(table)} as now where ${same('now')}`,
  );
  return count;
}

/** Under a lock that nobody reads or writes beside: the last changes, and the names. */
function takePlace(client: PoolClient, table: Repacked): Promise<void> {
  const { schema, name, comment, indexes } = table;
  return inTransactionOf(client, async () => {
    await run(client, sql`lock table ${original(table)} in access exclusive mode`);
    await copyNoted(client, table);
    await run(client, sql`drop table ${original(table)}`);
    await run(client, sql`drop function ${noteOf(table)}()`);
    await run(client, sql`drop table ${changesOf(table)}`);
    await run(client, sql`alter table ${copyOf(table)} rename to ${sql.id(name)}`);
    for (const { name: index, constraint } of indexes)
      await run(
        client,
        constraint === null
          ? sql`alter index ${sql.id(schema, temporary(index))} rename to ${sql.id(index)}`
          : sql`alter table ${sql.id(schema, name)} rename constraint ${sql.id(temporary(index))} to ${sql.id(index)}`,
      );
    for (const statement of [comment, ...indexes.map((index) => index.comment)])
      await client.query(statement);
  });
}
