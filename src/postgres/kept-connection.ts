import type { Pool, PoolClient } from 'pg';
import { pause } from '../foundation/pause.js';
import { startProbe, type ProbeOptions } from './probe.js';

const RETRY_MS = 500;
const PROBE: ProbeOptions = { everyMs: 2_000, withinMs: 2_000 };

/**
 * For a session whose lock others wait for: releases that of a vanished machine after twenty
 * seconds instead of the server's default of two hours. Not for a Unix socket, whose other end
 * cannot vanish.
 */
export const SERVER_KEEPALIVE =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 2; set tcp_user_timeout = 20000';

/**
 * One connection that is prepared (a lock, a LISTEN), probed, and opened and prepared again when it
 * is lost: a connection that a firewall dropped, or whose other end vanished, breaks only when it
 * is used.
 */
export class KeptConnection {
  private readonly stopping = new AbortController();
  private client: PoolClient | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly prepare: (client: PoolClient) => Promise<void>,
    private readonly probe: ProbeOptions = PROBE,
  ) {}

  /** Resolves once it is open for the first time. @throws when the database is unavailable. */
  async start(): Promise<void> {
    const first = await this.open();
    this.running = this.keep(first);
  }

  /** Opens it as soon as the database answers. */
  startSoon(): void {
    this.running ??= this.keep(undefined);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.client?.release(true);
    this.client = undefined;
    await this.running;
  }

  private async open(): Promise<Kept> {
    const client = await this.pool.connect();
    let lose: () => void = () => undefined;
    const lost = new Promise<void>((resolve) => {
      lose = resolve;
      client.once('end', resolve);
      this.stopping.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    client.on('error', () => undefined);
    try {
      await client.query(SERVER_KEEPALIVE);
      await this.prepare(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    // Stopped meanwhile: without a release the pool would wait for it forever.
    if (this.stopping.signal.aborted) client.release(true);
    else this.client = client;
    void lost.then(startProbe(() => client.query('select 1'), this.probe, lose));
    return { lost };
  }

  private async keep(first: Kept | undefined): Promise<void> {
    let kept = first;
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
