import type { Pool, PoolClient } from 'pg';
import { withTimeout } from '../foundation/timeout.js';
import { backOffMs, pause, type BackOff } from '../foundation/pause.js';
import { SERVER_KEEPALIVE } from './kept-connection.js';
import { LOCK_CLASSES } from './locks.js';

const ANSWER_WITHIN_MS = 5_000;

/** A time of leading: from taking the locks until something ends it. */
interface Turn {
  readonly held: ReadonlySet<string>;
  readonly ending: AbortController;
}

/** Named locks that one process of all holds, until it releases them or dies. */
export type Locks = Pick<AdvisoryLocks, 'take' | 'onLost' | 'release'>;

/**
 * What this process leads (a projection, the policies, the sealing). A process that has not noticed
 * the loss of its locks is harmless: each write of projections, seals and the policies' checkpoint
 * expects the version that it read (fencing), and a repeated reaction has no second effect.
 */
export class Leadership {
  private locked: ReadonlySet<string> = new Set();
  private renewing: Promise<ReadonlySet<string>> | undefined;
  private turn: Turn | undefined;

  constructor(
    private readonly locks: Locks,
    private readonly names: readonly string[],
  ) {
    locks.onLost(() => this.lost());
  }

  /** The names that this process holds, as far as it knows. */
  get held(): ReadonlySet<string> {
    return this.locked;
  }

  /**
   * Tries for the missing locks and checks the held ones; call it about every second. Concurrent
   * callers share the result.
   * @throws when the store is unavailable; no lock is held then.
   */
  renew(): Promise<ReadonlySet<string>> {
    this.renewing ??= this.tryLocks().finally(() => (this.renewing = undefined));
    return this.renewing;
  }

  /** @returns a signal that aborts when the locks are lost or the turn ends otherwise. */
  beginTurn(): AbortSignal {
    this.turn = { held: this.locked, ending: new AbortController() };
    if (this.locked.size === 0) this.endTurn();
    return this.turn.ending.signal;
  }

  /** Ends the turn: the work is done, or has to begin anew. */
  endTurn(): void {
    this.turn?.ending.abort();
  }

  /** Renews, and ends the turn unless exactly its initial locks are still held. */
  async confirmTurn(): Promise<void> {
    const held = await this.renew().catch(() => new Set());
    if (held.size !== this.turn?.held.size) this.endTurn();
  }

  /** Releases all locks permanently. */
  release(): void {
    this.locks.release();
    this.lost();
  }

  private async tryLocks(): Promise<ReadonlySet<string>> {
    const taken = await this.locks.take(this.names.filter((name) => !this.locked.has(name)));
    if (taken.length > 0) this.locked = new Set([...this.locked, ...taken]);
    return this.locked;
  }

  private lost(): void {
    this.locked = new Set();
    this.endTurn();
  }
}

export interface AdvisoryLockOptions {
  /** Default 5 000. */
  readonly answerWithinMs?: number;
  /** Fetched once: lock names that differ from the names of what they protect. */
  readonly lockNames?: () => Promise<ReadonlyMap<string, string>>;
}

/** On one connection: Postgres releases them when it ends, for any reason. */
export class AdvisoryLocks {
  private client: PoolClient | undefined;
  private isReleased = false;
  private readonly listeners: (() => void)[] = [];
  private readonly answerWithinMs: number;
  private lockNames: ReadonlyMap<string, string> | undefined;

  /** Keeps one connection of the pool from the first lock on. */
  constructor(
    private readonly pool: Pool,
    private readonly options: AdvisoryLockOptions = {},
  ) {
    this.answerWithinMs = options.answerWithinMs ?? ANSWER_WITHIN_MS;
  }

  /** Called when all were lost. */
  onLost(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Also checks the held ones. @returns those taken now. @throws when none is held any more. */
  async take(names: readonly string[]): Promise<readonly string[]> {
    const lockNames = (this.lockNames ??=
      (await this.options.lockNames?.()) ?? new Map<string, string>());
    const client = this.client ?? (await this.connect());
    try {
      const { rows } = await withTimeout(
        client.query<{ name: string }>(
          `select name from unnest($1::text[], $2::text[]) as l (name, lock_name)
           where pg_try_advisory_lock($3, hashtext(lock_name))`,
          [names, names.map((name) => lockNames.get(name) ?? name), LOCK_CLASSES.leader],
        ),
        this.answerWithinMs,
      );
      if (this.client !== client) throw new Error('the connection that holds the locks was lost');
      return rows.map(({ name }) => name);
    } catch (error) {
      this.drop(client);
      throw error;
    }
  }

  /** Closes the connection, which releases all locks. */
  release(): void {
    this.isReleased = true;
    if (this.client) this.drop(this.client);
  }

  private async connect(): Promise<PoolClient> {
    const client = await this.pool.connect();
    // Released while the connection was opening: no other code would release this one.
    if (this.isReleased) {
      client.release(true);
      throw new Error('the leadership was released');
    }
    this.client = client;
    // Stays registered: a dying connection may emit several errors, and one without a listener
    // would end the process.
    client.on('error', () => this.drop(client));
    client.on('end', () => this.drop(client));
    await withTimeout(client.query(SERVER_KEEPALIVE), this.answerWithinMs).catch(
      (error: unknown) => {
        this.drop(client);
        throw error;
      },
    );
    return client;
  }

  private drop(client: PoolClient): void {
    if (this.client !== client) return;
    this.client = undefined;
    client.release(true);
    for (const listener of this.listeners) listener();
  }
}

export interface Leading {
  readonly leadership: Leadership;
  /** Its abort ends the turn and the loop. */
  readonly started: AbortSignal;
  /** How often a standby tries to take over, and a leader checks its connection. */
  readonly everyMs: number;
  readonly retryMs: BackOff;
  /** The work, or taking the locks, failed; both are retried. Not called after a stop. */
  readonly onInterrupted: (error: unknown) => void;
  /** Other processes hold all locks. */
  readonly onStandby?: () => void;
  /** Called after each renewal of a turn. An error is left to the next one. */
  readonly onRenewed?: () => Promise<void>;
}

/**
 * Does the work in turns whenever this process holds any of the locks, through every outage, until
 * stopped. A turn ends when the work returns or fails; its signal aborts when locks are lost or
 * gained, at `endTurn`, and at the stop. The next turn begins after the work of the previous one:
 * immediately when it returned, and after a doubling pause when it failed.
 *
 * The caller releases the locks, since its work outside the loop may depend on them.
 */
export async function leadWhileStarted(
  leading: Leading,
  work: (held: ReadonlySet<string>, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { leadership, started, everyMs, retryMs } = leading;
  for (let failures = 0; !started.aborted;) {
    try {
      const held = await leadership.renew();
      if (held.size > 0) await leadOneTurn(leading, (signal) => work(held, signal));
      else {
        leading.onStandby?.();
        await pause(everyMs, started);
      }
      failures = 0;
    } catch (error) {
      if (started.aborted) return;
      leading.onInterrupted(error);
      await pause(backOffMs(failures++, retryMs), started);
    }
  }
}

async function leadOneTurn(
  leading: Leading,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { leadership, started } = leading;
  const turn = leadership.beginTurn();
  // The locks may be lost, or a stop requested, before any listener is registered.
  if (turn.aborted || started.aborted) return;
  const end = (): void => leadership.endTurn();
  started.addEventListener('abort', end);
  const renewing = renewWhile(turn, leading);
  try {
    await work(turn);
  } finally {
    end();
    started.removeEventListener('abort', end);
    await renewing;
  }
}

async function renewWhile(turn: AbortSignal, leading: Leading): Promise<void> {
  for (;;) {
    await pause(leading.everyMs, turn);
    if (turn.aborted) return;
    await leading.leadership.confirmTurn();
    if (!turn.aborted) await leading.onRenewed?.().catch(() => undefined);
  }
}
