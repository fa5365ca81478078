import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const LOCK_CLASS = 720_251;
const COMMAND_LOCK_CLASS = 720_252;

/**
 * SQL that is true while anybody holds a lock of the class in this database, and what else is asked
 * of it holds.
 */
const isHeld = (lockClass: number, further: string): string => `exists (
    select from pg_locks
    where locktype = 'advisory' and classid = ${lockClass} and objsubid = 2 and granted ${further}
      and database = (select oid from pg_database where datname = current_database()))`;

/**
 * A sign of life that ends with the process, whatever ends it: an advisory lock on a connection of
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
 * That of a process of the service: others can tell from it whether the process that began
 * something is still there.
 */
export class ProcessPresence extends Presence {
  /** Names this process in rows that it leaves. */
  readonly id: number;

  constructor(pool: Pool) {
    const id = randomInt(1, 2 ** 31 - 1);
    super(pool, 'select pg_advisory_lock($1, $2)', [LOCK_CLASS, id]);
    this.id = id;
  }

  /**
   * SQL that is true while any process shows its presence in this database. Whoever asks `isGone`
   * holds a share for a moment.
   */
  static readonly isAnybody = isHeld(LOCK_CLASS, "and mode = 'ExclusiveLock'");

  /**
   * SQL that is true while any other process than that of this id does. `id`: an expression of
   * ours, never a value from outside.
   */
  static isAnybodyBut(id: string): string {
    return isHeld(LOCK_CLASS, `and mode = 'ExclusiveLock' and objid::bigint <> (${id})::bigint`);
  }

  /**
   * SQL that is true when the process of that id is gone. `owner`: an expression of ours, never a
   * value from outside. It asks for a share of the lock: after a crash many ask for the same
   * process at once, and must not take each other for it.
   */
  static isGone(owner: string): string {
    return `pg_try_advisory_xact_lock_shared(${LOCK_CLASS}, (${owner})::int)`;
  }
}

/**
 * The sign of life of a command that may append to the log. Apart from that of services: what asks
 * for a service, which keeps read models up and runs jobs, does not mean a command.
 */
export class CommandPresence extends Presence {
  constructor(pool: Pool) {
    super(pool, 'select pg_advisory_lock_shared($1, 0)', [COMMAND_LOCK_CLASS]);
  }

  /** SQL that is true while any command shows its presence in this database. */
  static readonly isAnybody = isHeld(COMMAND_LOCK_CLASS, '');
}
