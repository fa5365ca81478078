import { randomInt } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { pause } from '../projecting/pause.js';

const LOCK_CLASS = 720_251;
const RETRY_MS = 500;

/**
 * A sign of life that ends with the process, whatever ends it: an advisory lock on a connection of its own. Others can tell from it
 * whether the process that began something is still there.
 */
export class ProcessPresence {
  /** Names this process in rows that it leaves. */
  readonly id = randomInt(1, 2 ** 31 - 1);
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private client: PoolClient | undefined;

  constructor(private readonly pool: Pool) {}

  /** Returns once the sign stands for the first time; it is set again whenever the connection is lost. */
  async start(): Promise<void> {
    const held = await this.hold();
    this.running = this.keep(held);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.client?.release(true);
    this.client = undefined;
    await this.running;
  }

  /** SQL that is true when the process of that id is gone. `owner`: an expression of ours, never a value from outside. */
  static isGone(owner: string): string {
    return `pg_try_advisory_xact_lock(${LOCK_CLASS}, (${owner})::int)`;
  }

  private async hold(): Promise<{ readonly lost: Promise<void> }> {
    const client = await this.pool.connect();
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      this.stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('error', () => undefined);
    try {
      await client.query('select pg_advisory_lock($1, $2)', [LOCK_CLASS, this.id]);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.client = client;
    return { lost };
  }

  private async keep(first: { readonly lost: Promise<void> }): Promise<void> {
    let held: { readonly lost: Promise<void> } | undefined = first;
    while (!this.stopping.signal.aborted) {
      await held?.lost;
      if (this.stopping.signal.aborted) return;
      this.client?.release(true);
      this.client = undefined;
      held = await this.hold().catch(() => undefined);
      if (!held) await pause(RETRY_MS, this.stopping.signal);
    }
  }
}
