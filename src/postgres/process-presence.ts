import { randomInt } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';
import { LOCK_CLASSES } from './locks.js';

const UNNAMED_RELEASE = 0;

/** SQL: a process holds a lock of the class for which the condition holds. */
const isHeld = (lockClass: number, further: RawBuilder<boolean>): RawBuilder<boolean> =>
  sql`exists (select ${held(lockClass, further)})`;

const held = (lockClass: number, further: RawBuilder<boolean>): RawBuilder<unknown> =>
  sql`from pg_locks
    where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted and ${further}
      and database = (select oid from pg_database where datname = current_database())`;

/** Advisory locks on a connection show that the process is alive. */
export class ProcessPresence extends KeptConnection {
  /** Names this process in the rows that it writes. */
  readonly id: number;

  /** @param release names the release of the process, see `releaseOf`. */
  constructor(pool: Pool, release = UNNAMED_RELEASE) {
    const id = randomInt(1, 2 ** 31 - 1);
    super(pool, async (client) => {
      await client.query('select pg_advisory_lock_shared($3, $4), pg_advisory_lock($1, $2)', [
        LOCK_CLASSES.process,
        id,
        LOCK_CLASSES.release,
        release,
      ]);
    });
    this.id = id;
  }

  /** SQL: the number of processes of other releases, including those that name no release. */
  static countOfOtherReleases(release: number): RawBuilder<number> {
    const all = held(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock'`);
    const same = held(LOCK_CLASSES.release, sql`objid::bigint = ${release}`);
    return sql`greatest(0, (select count(*) ${all}) - (select count(*) ${same}))::integer`;
  }

  /** SQL: a process shows its presence. `isGone` holds a share for a moment. */
  static readonly isAnyRunning = isHeld(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock'`);

  /** SQL: the process of that id shows its presence in this database. */
  static isRunning(id: Expression<unknown>): RawBuilder<boolean> {
    return isHeld(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock' and objid::bigint = ${id}`);
  }

  /** SQL: that process is gone. A shared lock: concurrent checks must not see each other. */
  static isGone(owner: Expression<unknown>): RawBuilder<boolean> {
    return sql`pg_try_advisory_xact_lock_shared(${LOCK_CLASSES.process}, (${owner})::int)`;
  }
}

/** Separate: services update read models and run jobs, which commands do not. */
export class CommandPresence extends KeptConnection {
  constructor(pool: Pool) {
    super(pool, async (client) => {
      await client.query('select pg_advisory_lock_shared($1, 0)', [LOCK_CLASSES.command]);
    });
  }

  /** SQL: a command shows its presence in this database. */
  static readonly isAnyRunning = isHeld(LOCK_CLASSES.command, sql`true`);
}
