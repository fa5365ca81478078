import { TooBusy } from '../../src/command-handling/stream-queues.js';
import { UnreadableEvent } from '../../src/event-log/event-schemas.js';
import { PostgresEventLog } from '../../src/event-log/postgres/postgres-event-log.js';
import { ALL_POLICIES } from '../../src/reacting/parked-reactions.js';
import { useDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import {
  NEW_FACT,
  OLD_FACT,
  OTHER_FACT,
  streamOf,
  TestReleases,
  type TestFact,
} from '../support/releases.js';
import { openForEach, openOnce } from '../support/opened.js';

const { database, pool } = useDatabase(12);
const log = openOnce(() => PostgresEventLog.open({ url: database.url }), 'close');
const releases = openForEach(() => TestReleases.on(pool, log), 'stopAll');

const rows = async () =>
  (
    await pool.query<{ policy: string; stream: string }>(
      'select policy, stream from ledger.parked_reactions order by policy',
    )
  ).rows;

const databaseError = (code: string): Error =>
  Object.assign(new Error('as Postgres says'), { code });

it('a failing reaction is parked for any cause, and retried automatically once the cause has ended', async () => {
  const failures = {
    unreadable: new UnreadableEvent('revision 3 of a stream: broken'),
    readOnly: databaseError('25006'),
    diskFull: databaseError('53100'),
    outOfMemory: databaseError('53200'),
    deadlock: databaseError('40P01'),
    busy: new TooBusy('a stream stayed contended'),
    ours: new TypeError('undefined is no object'),
  };
  const byStream = new Map<string, Error>(
    Object.entries(failures).map(([account, error]) => [streamOf(account), error]),
  );
  releases.failure = ({ stream }) => byStream.get(stream);
  const runner = releases.newer();
  for (const account of Object.keys(failures)) await releases.happened(account, OLD_FACT, NEW_FACT);
  const head = await releases.happened('fine', OLD_FACT);
  expect(await runner.waitFor(head, 20_000)).toBe(true);
  expect([...releases.reactions().keys()]).toEqual([streamOf('fine')]);
  expect(await runner.parkedCounts()).toMatchObject({ parked: 3 * byStream.size, heldBack: 0 });
  // One line for each reaction, however often it was tried.
  expect(releases.logger.lines).toHaveLength(3 * byStream.size);
  expect(releases.logger.lines).toContainEqual({
    policy: 'to-old-facts',
    position: expect.any(String) as string,
    error: 'Error 25006',
    message: 'a reaction failed again and again and is parked',
  });
  expect((await runner.parkedCounts()).parkedBecause).toEqual(expect.any(String));
  releases.failure = () => undefined;
  await eventually(async () => (await rows()).length === 0);
  expect((await runner.parkedCounts()).parkedBecause).toBeNull();
  expect(TestReleases.perPolicy(releases.reactions())).toEqual(
    TestReleases.perPolicy(await releases.expected()),
  );
});

it('after a parked reaction only those of its policy and stream wait', async () => {
  releases.failure = ({ stream, revision }, policy) =>
    stream === streamOf('a') && revision === 0n && policy === 'to-old-facts'
      ? new Error('not yet')
      : undefined;
  const runner = releases.newer();
  await releases.happened('a', OLD_FACT, OLD_FACT);
  expect(await runner.waitFor(await releases.happened('a', OLD_FACT), 20_000)).toBe(true);
  expect(releases.done.map(({ policy, revision }) => `${policy} ${revision}`)).toEqual([
    'to-both 0',
    'to-both 1',
    'to-both 2',
  ]);
  expect(await rows()).toEqual([{ policy: 'to-old-facts', stream: streamOf('a') }]);
  releases.failure = () => undefined;
  await eventually(async () => (await rows()).length === 0);
  expect(releases.done.slice(3).map(({ policy, revision }) => `${policy} ${revision}`)).toEqual(
    [0, 1, 2].map((at) => `to-old-facts ${at}`),
  );
});

it('a reaction that takes long delays its stream and the checkpoint, and no other account', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const done: string[] = [];
  const runner = releases.newer({
    carryOut: async ({ stream, revision }, policy) => {
      if (stream === streamOf('hot')) {
        isHeld = true;
        await released;
      }
      if (policy === 'to-both') done.push(`${stream} ${revision}`);
    },
  });
  const own = { tenant: 'demo', mode: 'live' } as const;
  const before = await releases.happened('a', OLD_FACT);
  expect(await runner.waitFor(before, 20_000)).toBe(true);
  await releases.happened('hot', OLD_FACT);
  await eventually(() => isHeld);
  await releases.happened('hot', OLD_FACT);
  const head = await releases.happened('b', OLD_FACT, OLD_FACT);
  try {
    await eventually(() => done.includes(`${streamOf('b')} 1`));
    expect(done).toEqual([`${streamOf('a')} 0`, `${streamOf('b')} 0`, `${streamOf('b')} 1`]);
    expect(log.compare((await runner.checkpoint()) ?? undefined, before)).toBeLessThanOrEqual(0);
    // Another tenant's reads do not wait; this one's do.
    const other = { tenant: 'other', mode: 'live' } as const;
    expect(await runner.waitFor(head, 20_000, undefined, other)).toBe(true);
    expect(await runner.waitFor(head, 1, undefined, own)).toBe(false);
  } finally {
    release();
  }
  expect(await runner.waitFor(head, 20_000, undefined, own)).toBe(true);
  expect(await runner.waitFor(head, 20_000)).toBe(true);
  expect(done.slice(3)).toEqual([`${streamOf('hot')} 0`, `${streamOf('hot')} 1`]);
});

it('an outage of the stores parks nothing, however often a reaction fails meanwhile', async () => {
  const runner = releases.newer({ isUnavailable: () => true, outageMs: 0 });
  const before = await releases.happened('fine', OLD_FACT);
  expect(await runner.waitFor(before, 20_000)).toBe(true);
  const away = jest.spyOn(log, 'check').mockRejectedValue(new Error('away'));
  let failed = 0;
  releases.failure = () => {
    failed += 1;
    return databaseError('57P01');
  };
  const head = await releases.happened('a', OLD_FACT, OLD_FACT);
  // A reaction that fails as often while the stores answer is parked.
  await eventually(async () => failed > 5 || (await rows()).length > 0);
  expect(await rows()).toEqual([]);
  expect(runner.lastError).toContain('57P01');
  expect(log.compare((await runner.checkpoint()) ?? undefined, before)).toBe(0);
  releases.failure = () => undefined;
  away.mockRestore();
  expect(await runner.waitFor(head, 20_000)).toBe(true);
  expect(runner.lastError).toBeNull();
  expect(await rows()).toEqual([]);
  expect(releases.reactions()).toEqual(await releases.expected());
});

const refuseParking = (code: string) =>
  pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '${code}'; end $$;
       create trigger refuse before insert on ledger.parked_reactions for each row execute function refuse()`,
  );

it.each(['25006', '53100'])(
  'a reaction that cannot be parked is not skipped (%s), and the runner recovers afterwards',
  async (code) => {
    await refuseParking(code);
    try {
      releases.failure = ({ stream }) =>
        stream === streamOf('a') ? databaseError(code) : undefined;
      const runner = releases.newer();
      const fine = await releases.happened('b', OLD_FACT);
      expect(await runner.waitFor(fine, 20_000)).toBe(true);
      const head = await releases.happened('a', OLD_FACT, OLD_FACT);
      await eventually(() => runner.lastError !== null);
      expect(runner.lastError).toContain(code);
      expect(log.compare((await runner.checkpoint()) ?? undefined, fine)).toBe(0);
      releases.failure = () => undefined;
      expect(await runner.waitFor(head, 20_000)).toBe(true);
      expect(runner.lastError).toBeNull();
      expect(releases.reactions()).toEqual(await releases.expected());
    } finally {
      await pool.query('drop function refuse cascade');
    }
  },
);

const change = (
  column: 'data' | 'metadata' | 'type',
  value: string,
  account: string,
  revision: number,
) =>
  pool.query(`update ledger.events set ${column} = $1 where stream = $2 and revision = $3`, [
    value,
    streamOf(account),
    revision,
  ]);
const stored = async (
  column: 'data' | 'metadata',
  account: string,
  revision: number,
): Promise<string> => {
  for await (const event of log.readStream(streamOf(account), { from: BigInt(revision) }))
    return event[column];
  throw new Error('there is no such event');
};

it('an event that cannot be read of a type that policies handle delays its account only, and is processed once it can be read', async () => {
  await releases.happened('a', OLD_FACT, OLD_FACT, OLD_FACT);
  const whole = await stored('data', 'a', 1);
  await change('data', whole.slice(1), 'a', 1);
  const runner = releases.newer();
  expect(await runner.waitFor(await releases.happened('b', OLD_FACT), 20_000)).toBe(true);
  expect(await runner.parkedCounts()).toMatchObject({ parked: 0, heldBack: 1 });
  expect(
    releases.done.filter(({ stream }) => stream === streamOf('a')).map(({ revision }) => revision),
  ).toEqual([0n, 0n]);
  expect(runner.lastError).toBeNull();
  expect(releases.logger.lines).toMatchObject([
    {
      policy: ALL_POLICIES,
      error: (await runner.parkedCounts()).parkedBecause,
      message: 'this release cannot read an event: all reactions to its stream are parked',
    },
  ]);
  await change('data', whole, 'a', 1);
  await eventually(async () => (await rows()).length === 0);
  expect(releases.reactions()).toEqual(await releases.expected());
});

it.each<[string, TestFact, (metadata: string) => string]>([
  ['a version to come', OLD_FACT, (metadata: string) => metadata.replace('"v":1', '"v":9')],
  [
    'a version to come of a type without a policy',
    OTHER_FACT,
    (metadata: string) => metadata.replace('"v":1', '"v":9'),
  ],
  ['metadata that says nothing', OTHER_FACT, (metadata: string) => metadata.slice(1)],
])('an event that cannot be read for %s holds back its account', async (_, fact, broken) => {
  await releases.happened('a', fact, OLD_FACT);
  const whole = await stored('metadata', 'a', 0);
  await change('metadata', broken(whole), 'a', 0);
  const runner = releases.newer();
  expect(await runner.waitFor(await releases.happened('b', OLD_FACT), 20_000)).toBe(true);
  expect([...releases.reactions().keys()]).toEqual([streamOf('b')]);
  await change('metadata', whole, 'a', 0);
  await eventually(async () => (await rows()).length === 0);
  expect(releases.reactions()).toEqual(await releases.expected());
});

it('an event of a type that this release does not know is processed by a standby of a release that knows it, while another release leads', async () => {
  const older = releases.older();
  await eventually(() => older.role === 'leader');
  releases.newer();
  for (let round = 0; round < 3; round++) {
    await releases.happened('a', OLD_FACT, NEW_FACT, OLD_FACT);
    expect(await older.waitFor(await releases.happened('b', OLD_FACT), 20_000)).toBe(true);
  }
  await eventually(async () => (await rows()).length === 0);
  expect(older.role).toBe('leader');
  expect(releases.reactions()).toEqual(await releases.expected());
});
