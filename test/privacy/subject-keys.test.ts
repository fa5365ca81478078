import { randomUUID } from 'node:crypto';
import { PostgresKeyRows } from '../../src/privacy/key-rows.js';
import { scrub, scrubIfNeeded } from '../../src/privacy/scrub.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { WrappedKeys } from '../../src/privacy/subject-keys.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

const { pool } = useDatabase(4);

/** The keys as a process has them: what another one destroys is still in its cache. */
const aProcess = () =>
  new WrappedKeys(new PostgresKeyRows(pool), new FixedSealer(Buffer.alloc(32, 1)));

it('a key is made once, and is the same in every process', async () => {
  const subject = randomUUID();
  expect((await aProcess().load([subject])).get(subject)).toBeNull();
  const made = (await aProcess().loadOrCreate([subject])).get(subject);
  expect(made).toHaveLength(32);
  expect((await aProcess().loadOrCreate([subject])).get(subject)).toEqual(made);
  expect((await aProcess().load([subject])).get(subject)).toEqual(made);
});

it('a destroyed key is never made again, and neither is one that was destroyed before it was made', async () => {
  const [known, unknown] = [randomUUID(), randomUUID()];
  const keys = aProcess();
  await keys.loadOrCreate([known]);
  await keys.destroy([known, unknown]);
  for (const process of [keys, aProcess()]) {
    expect([...(await process.loadOrCreate([known, unknown])).values()]).toEqual([null, null]);
    expect([...(await process.load([known, unknown])).values()]).toEqual([null, null]);
  }
});

it('a key that is read while its subject is evicted is not cached', async () => {
  const subject = randomUUID();
  await aProcess().loadOrCreate([subject]);
  const keys = aProcess();
  const reading = keys.load([subject]);
  keys.forget([subject]);
  expect((await reading).get(subject)).toHaveLength(32);
  await aProcess().destroy([subject]);
  expect((await keys.load([subject])).get(subject)).toBeNull();
});

const readModels = {
  reachHead: () => Promise.resolve(() => Promise.resolve(true)),
  dropUnfollowed: () => Promise.resolve(),
};

it('a scrub rewrites no table while a transaction runs that may see the destroyed keys, and is needed once', async () => {
  const subject = randomUUID();
  await aProcess().loadOrCreate([subject]);
  const earlier = await pool.connect();
  // Its first statement takes the snapshot.
  await earlier.query('begin isolation level repeatable read');
  await earlier.query('select 1');
  await aProcess().destroy([subject]);
  const rewritten: string[] = [];
  const options = {
    readModels,
    progress: (line: string) => void rewritten.push(line),
  };
  const scrubbing = scrub(pool, options);
  const looks = new Set<string>();
  const hasLookedAgain = async () => {
    const { rows } = await pool.query<{ at: string }>(
      `select query_start::text as at from pg_stat_activity
        where datname = current_database() and query like 'select from pg_stat_activity%'`,
    );
    for (const { at } of rows) looks.add(at);
    return looks.size > 1;
  };
  await eventually(async () => rewritten.length > 0 || (await hasLookedAgain()));
  expect(rewritten).toEqual([]);
  await earlier.query('commit');
  earlier.release();
  const { tables } = await scrubbing;
  expect(rewritten).toHaveLength(tables);
  expect(rewritten).toContain('rewrote vault.subject_keys');
  expect(await scrubIfNeeded(pool, options)).toBeUndefined();
  await aProcess().destroy([randomUUID()]);
  expect(await scrubIfNeeded(pool, options)).toMatchObject({ tables });
});

it('a scrub tries again what another transaction has locked', async () => {
  const reader = await pool.connect();
  await reader.query('begin');
  await reader.query('lock table vault.subject_keys in access share mode');
  const scrubbing = scrub(pool, { readModels });
  const hasFailed = async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity
        where datname = current_database() and state = 'idle' and query like 'vacuum%subject_keys%'`,
    );
    return rowCount === 1;
  };
  try {
    await Promise.race([scrubbing, eventually(hasFailed)]);
  } finally {
    await reader.query('commit');
    reader.release();
  }
  expect((await scrubbing).tables).toBeGreaterThan(0);
});
