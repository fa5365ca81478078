import type pg from 'pg';
import { pause } from '../foundation/pause.js';

/** What a session waits for, as seen from another connection. */
export interface LockWait {
  /** From now on the session of this process id is watched; `waiter` names it in the line. */
  of(pid: number | undefined, waiter: string): void;
  /** The last wait that was seen, in one line; undefined: none. */
  line(): string | undefined;
  stop(): Promise<void>;
}

interface Waited {
  readonly wanted: string;
  readonly mode: string;
  readonly holder: number | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly seconds: number | null;
}

const LOOK_EVERY_MS = 100;

/** Looks several times a second, on one connection of the pool. */
export function watchLockWait(pool: pg.Pool): LockWait {
  const stopping = new AbortController();
  let watched: { readonly pid: number; readonly waiter: string } | undefined;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    if (!watched) return;
    const { pid, waiter } = watched;
    const { rows } = await pool.query<Waited>(WAITED, [pid]);
    if (rows[0]) seen = lineOf(waiter, rows[0]);
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      // Only the line is missing without an answer.
      await look().catch(() => undefined);
      await pause(LOOK_EVERY_MS, stopping.signal);
    }
  })();
  return {
    of: (pid, waiter) => (watched = pid === undefined ? undefined : { pid, waiter }),
    line: () => seen,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

function lineOf(
  waiter: string,
  { wanted, mode, holder, application, state, seconds }: Waited,
): string {
  const by =
    holder === null
      ? 'a session that has ended'
      : `process ${holder} of Postgres (${application || 'unnamed'}, ${state ?? 'unknown'}${
          seconds === null ? '' : `, in its transaction for ${seconds} s`
        })`;
  return `${waiter} waits for ${wanted} (${mode}), held by ${by}`;
}

/** No text of a statement: it may hold values of people. */
const WAITED = `
  select case l.locktype when 'relation' then format('table %s.%s', c.relnamespace::regnamespace, c.relname)
                         when 'advisory' then 'another process that migrates'
                         else 'a ' || l.locktype || ' lock' end as wanted,
         l.mode, a.pid as holder, a.application_name as application, a.state,
         extract(epoch from clock_timestamp() - a.xact_start)::integer as seconds
  from pg_locks l
  left join pg_class c on c.oid = l.relation
  left join lateral unnest(pg_blocking_pids(l.pid)) as b (pid) on true
  left join pg_stat_activity a on a.pid = b.pid
  where l.pid = $1 and not l.granted
  order by a.xact_start nulls last limit 1`;
