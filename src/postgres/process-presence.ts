import { randomInt } from 'node:crypto';
import { sql, type Expression, type RawBuilder } from 'kysely';
import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const LOCK_CLASS = 720_251;
const COMMAND_LOCK_CLASS = 720_252;

/**
 * SQL that is true while any process holds a lock of the class in this database for which the
 * further condition holds.
 */
const isHeld = (
  lockClass: number,
  further: RawBuilder<boolean>,
): RawBuilder<boolean> => sql`exists (
    select from pg_locks
    where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted and ${further}
      and database = (select oid from pg_database where datname = current_database()))`;

/**
 * A sign of life that ends with the process, for any reason: an advisory lock on a connection of
 * its own.
 */
class Presence {
  private readonly connection: KeptConnection;

  /** @param lock the statement that takes it. */
  constructor(pool: Pool, lock: string, values: readonly number[]) {
    this.connection = new KeptConnection(pool, async (client) => {
      await client.query(lock, [...values]);
    });
  }

  start(): Promise<void> {
    return this.connection.start();
  }

  stop(): Promise<void> {
    return this.connection.stop();
  }
}

/**
 * The presence of a process of the service: others can see whether the process that began some work
 * is still alive.
 */
export class ProcessPresence extends Presence {
  /** Names this process in the rows that it writes. */
  readonly id: number;

  constructor(pool: Pool) {
    const id = randomInt(1, 2 ** 31 - 1);
    super(pool, 'select pg_advisory_lock($1, $2)', [LOCK_CLASS, id]);
    this.id = id;
  }

  /**
   * SQL that is true while any process shows its presence in this database. A query with `isGone`
   * holds a share for a moment.
   */
  static readonly isAnyRunning = isHeld(LOCK_CLASS, sql`mode = 'ExclusiveLock'`);

  /** SQL that is true while any process other than the one of this id does. */
  static isAnyOtherRunning(id: number): RawBuilder<boolean> {
    return isHeld(LOCK_CLASS, sql`mode = 'ExclusiveLock' and objid::bigint <> ${id}`);
  }

  /** SQL that is true while the process of that id shows its presence in this database. */
  static isRunning(id: Expression<unknown>): RawBuilder<boolean> {
    return isHeld(LOCK_CLASS, sql`mode = 'ExclusiveLock' and objid::bigint = ${id}`);
  }

  /**
   * SQL that is true when the process of that id is gone. It takes a share of the lock: after a
   * crash many check the same process at once, and must not take each other for it.
   */
  static isGone(owner: Expression<unknown>): RawBuilder<boolean> {
    return sql`pg_try_advisory_xact_lock_shared(${LOCK_CLASS}, (${owner})::int)`;
  }
}

/**
 * The presence of a command that may append to the log. Separate from that of services: a check for
 * a service, which keeps read models up to date and runs jobs, does not mean a command.
 */
export class CommandPresence extends Presence {
  constructor(pool: Pool) {
    super(pool, 'select pg_advisory_lock_shared($1, 0)', [COMMAND_LOCK_CLASS]);
  }

  /** SQL that is true while any command shows its presence in this database. */
  static readonly isAnyRunning = isHeld(COMMAND_LOCK_CLASS, sql`true`);
}
