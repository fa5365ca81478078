import { setTimeout as delay } from 'node:timers/promises';
import { probed, type ProbeOptions } from '../../postgres/probe.js';
import type { Doorbell } from '../doorbell.js';
import {
  openDedicatedConnection,
  type DedicatedConnection,
  type DedicatedConnectionOptions,
} from './postgres-connection.js';

const RETRY_MS = 500;
const PROBE: ProbeOptions = { everyMs: 2_000, withinMs: 2_000 };

/**
 * Rings the doorbell for appends of all processes, from NOTIFY, while it has holders. Opens its
 * connection again after a loss or a silence, and then wakes every reader, for notifications during
 * the loss are gone. Its absence costs latency only: readers poll as well.
 *
 * Not on `KeptConnection`: that one belongs to a pool and begins with an error while the database
 * is unavailable. A log is opened without a pool, and readers hold and release the connection.
 */
export class PostgresListener {
  private holders = 0;
  private onPosition: (position: bigint) => void = () => undefined;
  private closed = false;
  private connection: DedicatedConnection | undefined;
  private running: Promise<void> | undefined;
  private stopping = new AbortController();

  constructor(
    private readonly doorbell: Doorbell,
    private readonly options: DedicatedConnectionOptions,
    private readonly probe: ProbeOptions = PROBE,
  ) {}

  /**
   * Listens until the returned function was called as often as this one.
   * @param onPosition called with each notified position.
   */
  hold(onPosition: (position: bigint) => void = () => undefined): () => void {
    this.onPosition = onPosition;
    this.holders += 1;
    if (this.holders === 1 && !this.closed) {
      this.stopping = new AbortController();
      const { signal } = this.stopping;
      const before = this.running ?? Promise.resolve();
      this.running = before.then(() => this.listen(signal));
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.holders -= 1;
      if (this.holders > 0) return;
      this.stopping.abort();
      this.connection?.destroy();
    };
  }

  /** Stops for good, whatever still holds it. */
  async close(): Promise<void> {
    this.closed = true;
    this.stopping.abort();
    this.connection?.destroy();
    await this.running;
  }

  private async listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const connection = await openDedicatedConnection(this.options);
        this.connection = connection;
        if (signal.aborted) connection.destroy();
        connection.client.on('notification', ({ payload }) => {
          if (payload === undefined || !/^\d{1,19}$/.test(payload)) return;
          this.doorbell.ring(BigInt(payload));
          this.onPosition(BigInt(payload));
        });
        await connection.client.query('listen ledger_events');
        this.doorbell.wakeAll();
        const { client, lost } = connection;
        const end = probed(
          () => client.query('select 1'),
          this.probe,
          () => connection.destroy(),
        );
        await lost.finally(end);
      } catch {
        // Not reported here: the readers meet the same absence and report it.
      } finally {
        this.connection?.destroy();
        this.connection = undefined;
      }
      await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
