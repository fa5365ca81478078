import { randomInt } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';
import { LOCK_CLASSES } from './locks.js';

const UNNAMED_RELEASE = 0;

/**
 * SQL that is true while any process holds a lock of the class in this database for which the
 * further condition holds.
 */
const isHeld = (lockClass: number, further: RawBuilder<boolean>): RawBuilder<boolean> =>
  sql`exists (select ${held(lockClass, further)})`;

const held = (lockClass: number, further: RawBuilder<boolean>): RawBuilder<unknown> =>
  sql`from pg_locks
    where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted and ${further}
      and database = (select oid from pg_database where datname = current_database())`;

/**
 * The presence of a process of the service: others can see whether the process that began some work
 * is still alive. A sign of life that ends with the process, for any reason: advisory locks on a
 * connection of its own.
 */
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

  /**
   * SQL that counts the processes of other releases than this one. Those before this class named
   * releases count, too.
   */
  static countOfOtherReleases(release: number): RawBuilder<number> {
    const all = held(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock'`);
    const same = held(LOCK_CLASSES.release, sql`objid::bigint = ${release}`);
    return sql`greatest(0, (select count(*) ${all}) - (select count(*) ${same}))::integer`;
  }

  /**
   * SQL that is true while any process shows its presence in this database. A query with `isGone`
   * holds a share for a moment.
   */
  static readonly isAnyRunning = isHeld(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock'`);

  /** SQL that is true while any process other than the one of this id does. */
  static isAnyOtherRunning(id: number): RawBuilder<boolean> {
    return isHeld(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock' and objid::bigint <> ${id}`);
  }

  /** SQL that is true while the process of that id shows its presence in this database. */
  static isRunning(id: Expression<unknown>): RawBuilder<boolean> {
    return isHeld(LOCK_CLASSES.process, sql`mode = 'ExclusiveLock' and objid::bigint = ${id}`);
  }

  /**
   * SQL that is true when the process of that id is gone. It takes a share of the lock: after a
   * crash many check the same process at once, and must not take each other for it.
   */
  static isGone(owner: Expression<unknown>): RawBuilder<boolean> {
    return sql`pg_try_advisory_xact_lock_shared(${LOCK_CLASSES.process}, (${owner})::int)`;
  }
}

/**
 * The presence of a command that may append to the log. Separate from that of services: a check for
 * a service, which keeps read models up to date and runs jobs, does not mean a command.
 */
export class CommandPresence extends KeptConnection {
  constructor(pool: Pool) {
    super(pool, async (client) => {
      await client.query('select pg_advisory_lock_shared($1, 0)', [LOCK_CLASSES.command]);
    });
  }

  /** SQL that is true while any command shows its presence in this database. */
  static readonly isAnyRunning = isHeld(LOCK_CLASSES.command, sql`true`);
}
