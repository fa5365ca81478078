import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { KeptConnection } from './kept-connection.js';

const LOCK_CLASS = 720_251;
const COMMAND_LOCK_CLASS = 720_252;

/**
 * A sign of life that ends with the process, whatever ends it: an advisory lock on a connection of its own. Others can tell from it
 * whether the process that began something is still there.
 */
export class ProcessPresence {
  /** Names this process in rows that it leaves. */
  readonly id = randomInt(1, 2 ** 31 - 1);
  private readonly connection: KeptConnection;

  constructor(pool: Pool) {
    this.connection = new KeptConnection(pool, async (client) => {
      await client.query('select pg_advisory_lock($1, $2)', [LOCK_CLASS, this.id]);
    });
  }

  start(): Promise<void> {
    return this.connection.start();
  }

  stop(): Promise<void> {
    return this.connection.stop();
  }

  /** SQL that is true while any process shows its presence in this database. */
  static readonly isAnybody = `exists (
    select from pg_locks
    where locktype = 'advisory' and classid = ${LOCK_CLASS} and objsubid = 2 and mode = 'ExclusiveLock' and granted
      and database = (select oid from pg_database where datname = current_database()))`;

  /** SQL that is true while any other process than that of this id does. `id`: an expression of ours, never a value from outside. */
  static isAnybodyBut(id: string): string {
    return `exists (
      select from pg_locks
      where locktype = 'advisory' and classid = ${LOCK_CLASS} and objsubid = 2 and mode = 'ExclusiveLock' and granted and objid::bigint <> (${id})::bigint
        and database = (select oid from pg_database where datname = current_database()))`;
  }

  /**
   * SQL that is true when the process of that id is gone. `owner`: an expression of ours, never a value from outside.
   * It asks for a share of the lock: after a crash many ask for the same process at once, and must not take each other for it.
   */
  static isGone(owner: string): string {
    return `pg_try_advisory_xact_lock_shared(${LOCK_CLASS}, (${owner})::int)`;
  }
}

/**
 * The sign of life of a command that may append to the log. Apart from that of services: what asks for a service, which keeps read models
 * up and runs jobs, does not mean a command.
 */
export class CommandPresence {
  private readonly connection: KeptConnection;

  constructor(pool: Pool) {
    this.connection = new KeptConnection(pool, async (client) => {
      await client.query('select pg_advisory_lock_shared($1, 0)', [COMMAND_LOCK_CLASS]);
    });
  }

  start(): Promise<void> {
    return this.connection.start();
  }

  stop(): Promise<void> {
    return this.connection.stop();
  }

  /** SQL that is true while any command shows its presence in this database. */
  static readonly isAnybody = `exists (
    select from pg_locks
    where locktype = 'advisory' and classid = ${COMMAND_LOCK_CLASS} and objsubid = 2 and granted
      and database = (select oid from pg_database where datname = current_database()))`;
}
