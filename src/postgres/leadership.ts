import type { Pool, PoolClient } from 'pg';
import { inTime } from '../foundation/in-time.js';
import { SERVER_LOOKS_AFTER_IT } from './kept-connection.js';

// With the hash of a name it makes the two-part key of its advisory lock.
const LOCK_CLASS = 720_250;

/**
 * In what this process leads (a projection, the policies, the sealing): a session advisory lock for
 * each name, all on one connection. Postgres lets go of them when that connection ends, whatever
 * became of the process. A process that has not noticed yet can do no harm: each write of a leader
 * expects the version that it read (fencing).
 */
export class Leadership {
  private client: PoolClient | undefined;
  private locked: ReadonlySet<string> = new Set();
  private renewing: Promise<ReadonlySet<string>> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly names: readonly string[],
    private readonly options: { readonly answerWithinMs: number; readonly onLost: () => void },
  ) {}

  /** The names that this process holds, as far as it knows. */
  get held(): ReadonlySet<string> {
    return this.locked;
  }

  /**
   * Tries for what is not held yet, and shows that the connection is alive; to be called every
   * second or so. @throws when the database is away; nothing is held then. Callers that come
   * meanwhile share the answer.
   */
  renew(): Promise<ReadonlySet<string>> {
    this.renewing ??= this.tryLocks().finally(() => (this.renewing = undefined));
    return this.renewing;
  }

  private async tryLocks(): Promise<ReadonlySet<string>> {
    const client = this.client ?? (await this.connect());
    const missing = this.names.filter((name) => !this.locked.has(name));
    try {
      const { rows } = await inTime(
        client.query<{ name: string }>(
          `select name from unnest($1::text[]) as name where pg_try_advisory_lock($2, hashtext(name))`,
          [missing, LOCK_CLASS],
        ),
        this.options.answerWithinMs,
      );
      if (this.client !== client) throw new Error('the connection that holds the locks was lost');
      if (rows.length > 0) this.locked = new Set([...this.locked, ...rows.map((row) => row.name)]);
      return this.locked;
    } catch (error) {
      this.drop(client);
      throw error;
    }
  }

  /** Gives everything up: the connection is closed, so that no lock can stay behind. */
  release(): void {
    if (this.client) this.drop(this.client);
  }

  private async connect(): Promise<PoolClient> {
    const client = await this.pool.connect();
    this.client = client;
    // Kept on: a connection that dies may say so more than once, and an error without a listener
    // would end the process.
    client.on('error', () => this.drop(client));
    client.on('end', () => this.drop(client));
    await inTime(client.query(SERVER_LOOKS_AFTER_IT), this.options.answerWithinMs).catch(
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
    const hadLocks = this.locked.size > 0;
    this.locked = new Set();
    client.release(true);
    if (hadLocks) this.options.onLost();
  }
}
