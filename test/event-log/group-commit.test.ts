import { EventLogUnavailable } from '../../src/event-log/event-log.js';
import { GroupCommit } from '../../src/event-log/postgres/group-commit.js';
import { rejectsWrites } from '../../src/postgres/database.js';

const refusal = (code: string): Error => Object.assign(new Error('refused'), { code });

/** Commits that a store refuses with these states, one after the other; then they succeed. */
function commitsRefusedWith(...states: readonly string[]) {
  const left = [...states];
  let commits = 0;
  const log = new GroupCommit({
    open: () =>
      Promise.resolve({
        commit: (appends) => {
          commits += 1;
          const state = left.shift();
          if (state !== undefined) return Promise.reject(refusal(state));
          const stored = { kind: 'stored', position: 1n, revision: 0n, isRepeated: false } as const;
          return Promise.resolve(appends.map(() => stored));
        },
        isLost: () => false,
        destroy: () => undefined,
      }),
    isTransient: () => true,
    refusesWrites: rejectsWrites,
    appendTimeoutMs: 3_600_000,
    waitingAppendsMax: 10,
    batchAppendsMax: 10,
    batchBytesMax: 1_000,
  });
  const append = (stream: string) =>
    log.append({ stream, expected: -1n, events: [], end: undefined }, 1);
  return { append, commits: () => commits };
}

test.each(['25006', '53100'])(
  'appends that the store refuses with state %s fail immediately, all of a batch, and are not retried',
  async (state) => {
    const { append, commits } = commitsRefusedWith(state);
    const refused = await Promise.allSettled([append('a'), append('b'), append('c')]);
    for (const one of refused)
      expect(one).toEqual({
        status: 'rejected',
        reason: expect.any(EventLogUnavailable) as unknown,
      });
    expect(commits()).toBe(1);
    expect(await append('a')).toMatchObject({ kind: 'stored' });
  },
);

test('an append that a deadlock rolled back is retried', async () => {
  const { append, commits } = commitsRefusedWith('40P01');
  expect(await append('a')).toMatchObject({ kind: 'stored' });
  expect(commits()).toBe(2);
});
