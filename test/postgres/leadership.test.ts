import { openPool } from '../../src/postgres/database.js';
import {
  AdvisoryLocks,
  Leadership,
  leadWhileStarted,
  type Leading,
} from '../../src/postgres/leadership.js';
import { createTestDatabase } from '../support/database.js';
import { eventually } from '../support/embedded.js';
import { END_SESSIONS } from '../support/ended-sessions.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { openOnce } from '../support/opened.js';
import {
  announceErasure,
  announceTenant,
  listenForAnnouncements,
} from '../../src/postgres/announcements.js';
import { KeptConnection } from '../../src/postgres/kept-connection.js';

const SOON = { everyMs: 10, retryMs: { first: 1, max: 10 } };
const ANSWER_WITHIN_MS = 200;

const database = openOnce(() => createTestDatabase({ migrated: false }), 'drop');

type Work = (held: ReadonlySet<string>, signal: AbortSignal) => Promise<void>;

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });

class Candidate {
  readonly pool;
  readonly leadership;
  readonly errors: unknown[] = [];
  readonly turns: string[][] = [];
  working = 0;
  timesStandby = 0;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(names: readonly string[], { url = database.url, connections = 1 } = {}) {
    this.pool = openPool({ url, max: connections, applicationName: 'candidate' });
    this.leadership = new Leadership(
      new AdvisoryLocks(this.pool, { answerWithinMs: ANSWER_WITHIN_MS }),
      names,
    );
  }

  start(work: Work = (_, signal) => ended(signal), how: Partial<Leading> = {}): this {
    const leading = {
      leadership: this.leadership,
      started: this.stopping.signal,
      onInterrupted: (error: unknown) => void this.errors.push(error),
      onStandby: () => void (this.timesStandby += 1),
    };
    this.running = leadWhileStarted({ ...leading, ...SOON, ...how }, async (held, signal) => {
      this.turns.push([...held].sort());
      this.working += 1;
      try {
        await work(held, signal);
      } finally {
        this.working -= 1;
      }
    });
    return this;
  }

  askToStop(): Promise<void> | undefined {
    this.stopping.abort();
    return this.running;
  }

  /** Hangs while the loop or a connection is left behind. */
  async stop(): Promise<void> {
    await this.askToStop();
    this.leadership.release();
    await this.pool.end();
  }
}

const cutOff = async (application: string): Promise<void> => {
  const pool = openPool({ url: database.url, max: 1, applicationName: 'test' });
  await pool.query(`${END_SESSIONS} and application_name = $1`, [application]);
  await pool.end();
};

it('of several processes one leads; another takes over once the work of the first has returned', async () => {
  let finish: () => void = () => undefined;
  const first = new Candidate(['seal']).start(
    () => new Promise<void>((resolve) => (finish = resolve)),
  );
  await eventually(async () => first.working === 1);
  const second = new Candidate(['seal']).start();
  await eventually(async () => second.timesStandby > 5);
  const stopped = first.stop();
  const tries = second.timesStandby;
  await eventually(async () => second.timesStandby > tries + 5);
  expect([first.working, second.working]).toEqual([1, 0]);
  finish();
  await stopped;
  await eventually(async () => second.working === 1);
  expect(first.turns).toEqual([['seal']]);
  await second.stop();
});

it('of several processes each leads in what it could lock; more locks begin a new turn', async () => {
  const first = new Candidate(['a']).start();
  await eventually(async () => first.working === 1);
  const second = new Candidate(['a', 'b']).start();
  await eventually(async () => second.working === 1);
  await first.stop();
  await eventually(async () => second.turns.length === 2);
  expect(second.turns).toEqual([['b'], ['a', 'b']]);
  await second.stop();
});

it('a turn ends when the connection is lost; the next begins when its work has returned', async () => {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const first = new Candidate(['lost']).start(async (_, signal) => {
    await ended(signal);
    await finished;
  });
  await eventually(async () => first.working === 1);
  await cutOff('candidate');
  await eventually(async () => first.leadership.held.size === 0);
  const second = new Candidate(['lost']).start();
  await eventually(async () => second.working === 1);
  expect([first.working, first.turns.length]).toEqual([1, 1]);
  finish();
  await eventually(async () => first.timesStandby > 0);
  expect(first.turns).toHaveLength(1);
  await second.stop();
  await eventually(async () => first.turns.length === 2);
  await first.stop();
});

it('a turn ends as soon as the connection is lost, and not with the next renewal', async () => {
  const candidate = new Candidate(['at-once']).start(undefined, { everyMs: 3_600_000 });
  await eventually(async () => candidate.working === 1);
  await cutOff('candidate');
  await eventually(async () => candidate.turns.length + candidate.timesStandby === 2);
  await candidate.stop();
});

it('a turn ends when a renewal is not answered', async () => {
  const { proxy, url } = await startPostgresProxy(database.url);
  const candidate = new Candidate(['silent'], { url }).start();
  await eventually(async () => candidate.working === 1);
  proxy.forget();
  // The server has not noticed it yet: the session of the first connection keeps the lock.
  await eventually(async () => candidate.working === 0 && candidate.timesStandby > 0);
  await candidate.stop();
  await proxy.close();
});

it('a turn ends on request, and the next begins immediately with the same locks', async () => {
  const candidate = new Candidate(['anew']).start();
  await eventually(async () => candidate.working === 1);
  candidate.leadership.endTurn();
  await eventually(async () => candidate.turns.length === 2);
  expect(candidate.working).toBe(1);
  expect(candidate.timesStandby).toBe(0);
  await candidate.stop();
});

it('a turn is checked after each renewal, and survives a failing check', async () => {
  let looks = 0;
  const looksBeforeTurn: number[] = [];
  const onRenewed = async (): Promise<void> => {
    looks += 1;
    if (looks < 3) throw new Error('not now');
    if (looks === 3) candidate.leadership.endTurn();
  };
  const work: Work = (_, signal) => {
    looksBeforeTurn.push(looks);
    return ended(signal);
  };
  const candidate = new Candidate(['looked-at']).start(work, { onRenewed });
  await eventually(async () => looksBeforeTurn.length === 2);
  expect(looksBeforeTurn).toEqual([0, 3]);
  expect(candidate.errors).toEqual([]);
  await candidate.stop();
});

it('work that fails is begun again after pauses that double', async () => {
  const times: number[] = [];
  const candidate = new Candidate(['failing']).start(
    async () => {
      times.push(performance.now());
      throw new Error(`failure ${times.length}`);
    },
    { retryMs: { first: 20, max: 160 } },
  );
  await eventually(async () => times.length >= 6);
  // A pause is at least half of what it is at most.
  const tooShort = [10, 20, 40, 80, 80].filter(
    (leastMs, index) => (times[index + 1] ?? 0) - (times[index] ?? 0) < leastMs - 1,
  );
  expect(tooShort).toEqual([]);
  expect(candidate.errors[0]).toEqual(new Error('failure 1'));
  await candidate.stop();
});

it('work that fails counts its failures from the last turn that returned', async () => {
  const candidate = new Candidate(['sometimes-failing']).start(
    async () => {
      if (candidate.turns.length % 3 !== 0) throw new Error('again');
    },
    // Thirty failures in a row would pause for minutes.
    { retryMs: { first: 1, max: 1_000_000 } },
  );
  await eventually(async () => candidate.errors.length >= 30);
  await candidate.stop();
});

it('work that fails keeps the locks meanwhile', async () => {
  const first = new Candidate(['kept']).start(() => Promise.reject(new Error('again')));
  await eventually(async () => first.turns.length > 0);
  const second = new Candidate(['kept']).start();
  await eventually(async () => second.timesStandby > 5);
  expect(second.turns).toEqual([]);
  await first.stop();
  await second.stop();
});

it('a stop ends the work, and waits for it', async () => {
  let finish: () => void = () => undefined;
  const candidate = new Candidate(['stopped']).start(async (_, signal) => {
    await ended(signal);
    await new Promise<void>((resolve) => (finish = resolve));
    throw new Error('cut short');
  });
  await eventually(async () => candidate.working === 1);
  let isStopped = false;
  const stopped = candidate.stop().then(() => (isStopped = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect([isStopped, candidate.working, candidate.leadership.held.size]).toEqual([false, 1, 1]);
  finish();
  await stopped;
  expect(candidate.errors).toEqual([]);
  expect(candidate.turns).toHaveLength(1);
});

it('a stop ends the pause of a standby immediately', async () => {
  const leader = new Candidate(['standby']).start();
  await eventually(async () => leader.working === 1);
  const standby = new Candidate(['standby']).start(undefined, { everyMs: 3_600_000 });
  await eventually(async () => standby.timesStandby === 1);
  await standby.stop();
  await leader.stop();
});

it('a stop while the locks are tried for begins no work', async () => {
  const candidate = new Candidate(['trying']);
  const { renew } = candidate.leadership;
  candidate.leadership.renew = async () => {
    const held = await renew.call(candidate.leadership);
    void candidate.askToStop();
    return held;
  };
  candidate.start();
  await candidate.askToStop();
  expect(candidate.leadership.held.size).toBe(1);
  expect(candidate.turns).toEqual([]);
  await candidate.stop();
});

it('a stop leaves no connection that was being opened when the locks were released', async () => {
  const candidate = new Candidate(['connecting']);
  const only = await candidate.pool.connect();
  candidate.start();
  await eventually(async () => candidate.pool.waitingCount === 1);
  const running = candidate.askToStop();
  candidate.leadership.release();
  only.release();
  await running;
  await candidate.pool.end();
  expect(candidate.errors).toEqual([]);
  expect(candidate.pool.totalCount).toBe(0);
});

it('the kept connection is released when it is opened again during a stop', async () => {
  const pool = openPool({ url: database.url, max: 2, applicationName: 'kept' });
  const prepared: { pid: number; goOn: () => void }[] = [];
  let onPrepare: () => void = () => undefined;
  const kept = new KeptConnection(pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await new Promise<void>((goOn) => {
      prepared.push({ pid: rows[0]?.pid ?? 0, goOn });
      onPrepare();
    });
  });
  const nextPreparation = () => new Promise<void>((resolve) => (onPrepare = resolve));

  let preparing = nextPreparation();
  const started = kept.start();
  await preparing;
  prepared[0]?.goOn();
  await started;

  preparing = nextPreparation();
  await pool.query('select pg_terminate_backend($1)', [prepared[0]?.pid]);
  await preparing;
  const stopped = kept.stop();
  prepared[1]?.goOn();
  await stopped;
  // Waits for connections that are still in use.
  await pool.end();
  expect(pool.totalCount).toBe(0);
}, 10_000);

it('the kept connection is opened again when the line is silent, without an error from either end', async () => {
  const { proxy, url } = await startPostgresProxy(database.url);
  const pool = openPool({ url, max: 3, applicationName: 'kept' });
  const pids: number[] = [];
  const kept = new KeptConnection(
    pool,
    async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      pids.push(rows[0]?.pid ?? 0);
    },
    { everyMs: 20, withinMs: 100 },
  );
  try {
    await kept.start();
    proxy.forget();
    await eventually(async () => pids.length > 1);
    expect(new Set(pids).size).toBe(pids.length);
  } finally {
    await kept.stop();
    await pool.end();
    await proxy.close();
  }
});

it('announcements arrive, and a new connection means all of them', async () => {
  const listening = openPool({ url: database.url, max: 1, applicationName: 'listening' });
  const pool = openPool({ url: database.url, max: 1, applicationName: 'announcing' });
  const erased: unknown[] = [];
  const changed: unknown[] = [];
  const kept = listenForAnnouncements(listening, {
    onErased: (subjects) => erased.push(subjects),
    onTenantChanged: (alias) => changed.push(alias),
  });
  const announce = async (): Promise<void> => {
    await announceErasure(pool, ['ann', 'bob']);
    await announceTenant(pool, 'shop');
  };
  try {
    await kept.start();
    await announce();
    await eventually(async () => changed.length > 1);
    await pool.query(`${END_SESSIONS} and application_name = 'listening'`);
    await eventually(async () => changed.length > 2);
    await announce();
    await eventually(async () => changed.length > 3);
    expect(erased).toEqual([undefined, ['ann', 'bob'], undefined, ['ann', 'bob']]);
    expect(changed).toEqual([undefined, 'shop', undefined, 'shop']);
  } finally {
    await kept.stop();
    await listening.end();
    await pool.end();
  }
});

it('a connection that is started soon is opened once the database answers', async () => {
  const { proxy, url } = await startPostgresProxy(database.url);
  const pool = openPool({ url, max: 1, applicationName: 'kept' });
  let opened = 0;
  const kept = new KeptConnection(pool, async () => void (opened += 1), {
    everyMs: 20,
    withinMs: 100,
  });
  proxy.forget();
  kept.startSoon();
  try {
    await eventually(async () => opened > 0);
  } finally {
    await kept.stop();
    await pool.end();
    await proxy.close();
  }
});
