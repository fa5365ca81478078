import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { workStore, type ClaimLimits } from '../../src/work-queue/work-items.js';
import { Worker } from '../../src/work-queue/worker.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';

const { pool } = useDatabase(4);
const store = workStore(pool);
beforeEach(() => pool.query('truncate ledger.work_items'));

const ROOM: ClaimLimits = {
  kind: 'k',
  process: 1,
  items: 8,
  ofTenant: 4,
  ofLane: 2,
  underWay: [],
  paused: [],
  narrow: [],
  after: '',
  leaseMs: 60_000,
};
const put = (tenant: string, lane: string, count: number, dueAt = 1_000) =>
  store.add(
    Array.from({ length: count }, (_, n) => ({
      kind: 'k',
      id: `${tenant}${lane}${n}`,
      tenant,
      lane,
      dueAt: dueAt + n,
      payload: {},
    })),
  );
const claimed = async (room: Partial<ClaimLimits> = {}): Promise<readonly string[]> =>
  (await store.claim({ ...ROOM, ...room })).map(({ id }) => id).sort();

test('a claim takes the oldest items, bounded by lane, by tenant and in all', async () => {
  await put('a', 'x', 9, 1_000);
  await put('a', 'y', 9, 2_000);
  await put('a', 'z', 9, 3_000);
  await put('b', 'x', 1, Date.now() - 5_000);
  expect(await claimed()).toEqual(['ax0', 'ax1', 'ay0', 'az0', 'bx0']);
  // A lane is full in all processes; of the tenant this process may take more.
  expect(await claimed({ process: 2 })).toEqual(['ay1', 'az1']);
  expect(await claimed({ process: 2, ofLane: 9, underWay: ['a', 'a', 'a'] })).toEqual(['ax2']);
});

test('the tenant with the fewest items under way is first, then the tenants after the last one', async () => {
  for (const tenant of ['a', 'b', 'c']) await put(tenant, '', 3);
  expect(await claimed({ items: 1, underWay: ['a', 'b'] })).toEqual(['c0']);
  expect(await claimed({ items: 1, after: 'a' })).toEqual(['b0']);
  expect(await claimed({ items: 1, after: 'c' })).toEqual(['a0']);
});

test('a lane that comes first has places also where its tenant has none', async () => {
  await put('a', 'x', 2);
  await put('a', 'y first', 1, 2_000);
  expect(await claimed({ underWay: ['a', 'a', 'a', 'a'] })).toEqual(['ay first0']);
  await put('a', 'z first', 1, 2_000);
  expect(await claimed({ items: 1 })).toEqual(['az first0']);
  await put('a', 'w first', 1);
  expect(await claimed({ underWay: Array.from({ length: 12 }, () => 'a') })).toEqual([]);
});

test.each([8.64e15 + 1, Date.UTC(10_000, 0), -8.64e15 - 1])(
  'an item waits for the date %i, however far away',
  async (at) => {
    await put('a', '', 1);
    const [item] = await store.claim(ROOM);
    if (item === undefined) throw new Error('nothing was claimed');
    await store.settle(ROOM, [{ item, outcome: { kind: 'again', after: { at }, reason: null } }]);
    await put('b', '', 1, at);
    expect(await claimed()).toEqual(at < 0 ? ['a0', 'b0'] : []);
  },
);

test('an item that is added again while a process works on it is due after that', async () => {
  await put('a', '', 1);
  const [item] = await store.claim(ROOM);
  if (item === undefined) throw new Error('nothing was claimed');
  await put('a', '', 1);
  await store.settle(ROOM, [{ item, outcome: { kind: 'done' } }]);
  const [again] = await store.claim(ROOM);
  expect(again).toMatchObject({ id: 'a0', attempts: 1 });
  // The first claim is over.
  await store.settle(ROOM, [{ item, outcome: { kind: 'done' } }]);
  expect((await pool.query('select from ledger.work_items')).rowCount).toBe(1);
});

test('a claim ends with its time, with its process, and where its answer was lost, and not before', async () => {
  const [here, other] = [new ProcessPresence(pool), new ProcessPresence(pool)];
  await Promise.all([here.start(), other.start()]);
  const hands = { kind: 'k', process: here.id, ids: ['mine0'], missed: [] };
  const open = async (): Promise<readonly string[]> =>
    (
      await pool.query<{ id: string }>(
        'select id from ledger.work_items where claimed_by is null order by id',
      )
    ).rows.map(({ id }) => id);
  try {
    for (const [tenant, process] of [
      ['mine', here.id],
      ['lost', here.id],
      ['other', other.id],
      ['dead', 77],
    ] as const) {
      await put(tenant, '', 1);
      await store.claim({ ...ROOM, process });
    }
    const first = await store.releaseOrphans(hands);
    expect([first, await open()]).toEqual([[77], []]);
    await pool.query(`update ledger.work_items set claimed_at = now() - interval '11 s'`);
    await store.releaseOrphans({ ...hands, missed: first });
    expect(await open()).toEqual(['dead0', 'lost0']);
    await other.stop();
    let missed: readonly number[] = [];
    await eventually(async () => {
      missed = await store.releaseOrphans({ ...hands, missed });
      return (await open()).includes('other0');
    });
    await pool.query(`update ledger.work_items set claimed_until = now()`);
    await store.releaseOrphans({ ...hands, process: 3, ids: [] });
    expect(await open()).toContain('mine0');
  } finally {
    await Promise.all([here.stop(), other.stop()]);
  }
});

test('a process works on an item once at a time, even if its claim has lapsed', async () => {
  let calls = 0;
  let end: () => void = () => undefined;
  const perform = async () => {
    calls += 1;
    await new Promise<void>((resolve) => (end = resolve));
    return { kind: 'done' } as const;
  };
  const kind = { name: 'k', concurrency: 4, ofTenant: 4, leaseMs: 1, perform };
  const worker = new Worker({ store, presence: { id: 1 }, kind, describe: String });
  await put('a', '', 1);
  worker.loop.start();
  await eventually(async () => calls === 1);
  await store.releaseOrphans({ kind: 'k', process: 1, ids: ['a0'], missed: [] });
  expect(await claimed({ process: 2 })).toEqual([]);
  // Another process ends it: this one claims the item again, and does not begin it.
  await store.releaseOrphans({ kind: 'k', process: 3, ids: [], missed: [] });
  worker.loop.notify();
  await eventually(
    async () =>
      (await pool.query('select from ledger.work_items where attempts = 2')).rowCount === 1,
  );
  expect(calls).toBe(1);
  end();
  await worker.stop();
});
