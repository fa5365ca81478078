import type { Pool, PoolClient } from 'pg';
import { pause } from '../pause.js';

const RETRY_MS = 500;

/** One connection that is prepared in some way (a lock, a LISTEN) and is opened and prepared again whenever it is lost. */
export class KeptConnection {
  private readonly stopping = new AbortController();
  private client: PoolClient | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly prepare: (client: PoolClient) => Promise<void>,
  ) {}

  /** Returns once it stands for the first time. @throws when the database is away. */
  async start(): Promise<void> {
    const first = await this.open();
    this.running = this.keep(first);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.client?.release(true);
    this.client = undefined;
    await this.running;
  }

  private async open(): Promise<Kept> {
    const client = await this.pool.connect();
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
      this.stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('error', () => undefined);
    try {
      await this.prepare(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    // Asked to stop meanwhile: nobody would give it back, and the pool would wait for it for ever.
    if (this.stopping.signal.aborted) client.release(true);
    else this.client = client;
    return { lost };
  }

  private async keep(first: Kept): Promise<void> {
    let kept: Kept | undefined = first;
    while (!this.stopping.signal.aborted) {
      await kept?.lost;
      if (this.stopping.signal.aborted) return;
      this.client?.release(true);
      this.client = undefined;
      kept = await this.open().catch(() => undefined);
      if (!kept) await pause(RETRY_MS, this.stopping.signal);
    }
  }
}

interface Kept {
  readonly lost: Promise<void>;
}
