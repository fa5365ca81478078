import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { repack } from '../../src/privacy/repack.js';
import { useDatabase } from '../support/database.js';

let pool: pg.Pool;
useDatabase(6, (opened) => (pool = opened));

const TABLE = { schema: 'things', name: 'rows' };

beforeEach(async () => {
  await pool.query(`
    drop schema if exists things cascade;
    create schema things;
    create table things.rows (
      tenant text collate "C", id uuid, note text default 'none', amount bigint not null check (amount >= 0),
      primary key (tenant, id)
    ) with (fillfactor = 80);
    comment on table things.rows is 'it''s kept';
    create unique index rows_by_amount on things.rows (amount desc) where amount > 10;
    create index "rows odd.name" on things.rows (lower(note));
    insert into things.rows select 't', gen_random_uuid(), 'note ' || n, n from generate_series(0, 999) n`);
});

async function shape(): Promise<unknown> {
  const { rows } = await pool.query(`
    select (select json_agg(pg_get_indexdef(indexrelid) order by indexrelid::regclass::text) from pg_index where indrelid = c.oid) as indexes,
      (select json_agg(conname || ' ' || pg_get_constraintdef(oid) order by conname) from pg_constraint where conrelid = c.oid) as constraints,
      (select json_agg(attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attcollation order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0) as columns,
      reloptions, obj_description(oid, 'pg_class') as comment,
      (select json_agg(tgname) from pg_trigger where tgrelid = c.oid) as triggers
    from pg_class c where oid = 'things.rows'::regclass`);
  const { rows: others } = await pool.query(
    `select relname from pg_class where relnamespace = 'things'::regnamespace order by relname`,
  );
  return { rows, others };
}

const content = async (): Promise<unknown> =>
  (await pool.query('select * from things.rows order by tenant, id')).rows;

async function fileOf(): Promise<unknown> {
  const { rows } = await pool.query<{ file: string }>(
    `select pg_relation_filenode('things.rows') as file`,
  );
  return rows[0]?.file;
}

test('a repacked table has another file, and the same rows, indexes, constraints and names', async () => {
  const before = { shape: await shape(), content: await content(), file: await fileOf() };
  const client = await pool.connect();
  expect(await repack(client, TABLE, (work) => work())).toBe(true);
  client.release(true);
  expect(await shape()).toEqual(before.shape);
  expect(await content()).toEqual(before.content);
  expect(await fileOf()).not.toBe(before.file);
});

test('it is read and written meanwhile, and nothing of that is lost', async () => {
  const client = await pool.connect();
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  const done: string[] = [];
  const id = randomUUID();
  // Beside each statement of the repacking but those that have the table for themselves.
  let alone = false;
  client.query = (async (...given: unknown[]) => {
    const text = typeof given[0] === 'string' ? given[0] : '';
    alone ||= /^(begin|create trigger|lock table)/.test(text);
    const answer = await query(...given);
    if (text.startsWith('commit')) alone = false;
    if (!alone) {
      const n = done.length;
      await pool.query('insert into things.rows values ($1, $2, $3, $4)', ['u', id, 'new', 0]);
      await pool.query('update things.rows set note = $1 where amount = $2', [`changed ${n}`, n]);
      await pool.query('delete from things.rows where amount = $1', [999 - n]);
      await pool.query(`delete from things.rows where id = $1`, [id]);
      await pool.query(`update things.rows set id = gen_random_uuid() where amount = 500`);
      done.push(text);
    }
    return answer;
  }) as typeof client.query;
  const expected = new Map(
    (await pool.query<{ amount: bigint; note: string }>('select * from things.rows')).rows.map(
      (row) => [row.amount, row.note],
    ),
  );
  expect(await repack(client, TABLE, (work) => work())).toBe(true);
  client.release(true);
  expect(done.length).toBeGreaterThan(5);
  done.forEach((_, n) => {
    expected.set(BigInt(n), `changed ${n}`);
    expected.delete(BigInt(999 - n));
  });
  const { rows } = await pool.query<{ amount: bigint; note: string }>('select * from things.rows');
  expect(new Map(rows.map((row) => [row.amount, row.note]))).toEqual(expected);
  expect(rows).toHaveLength(expected.size);
});

test('what an interrupted repacking left is removed by the next one', async () => {
  const before = await shape();
  const client = await pool.connect();
  const broken = repack(client, TABLE, async (work) => {
    await work();
    const { rows } = await pool.query(`select to_regclass('things.rows__copy') as copy`);
    if ((rows[0] as { copy: unknown }).copy !== null) throw new Error('the process ended');
  });
  await expect(broken).rejects.toThrow('the process ended');
  client.release(true);
  expect(await shape()).not.toEqual(before);
  await pool.query(`insert into things.rows values ('v', gen_random_uuid(), 'between', 5)`);
  const next = await pool.connect();
  expect(await repack(next, TABLE, (work) => work())).toBe(true);
  next.release(true);
  expect(await shape()).toEqual(before);
  expect(await content()).toHaveLength(1_001);
});

test('a table with numbers of its own, or that others refer to, is left to be rewritten', async () => {
  await pool.query(
    'create table things.numbered (id bigint generated always as identity primary key); create table things.refers (id uuid primary key, n bigint references things.numbered); create table things.bare (n int)',
  );
  const client = await pool.connect();
  for (const name of ['numbered', 'refers', 'bare'])
    expect(await repack(client, { schema: 'things', name }, (work) => work())).toBe(false);
  client.release(true);
});
