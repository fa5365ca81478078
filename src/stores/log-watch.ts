import {
  EventLogUnavailable,
  type EventLog,
  type Position,
  type SeenEvent,
} from '../event-log/event-log.js';
import { pause } from '../foundation/pause.js';

export interface LogWatchOptions {
  readonly log: EventLog;
  readonly logger: { error(fields: object, message: string): void };
  /** Repairs the database. Called once per loss, after this process's caches were emptied. */
  readonly onLost?: (loss: LogLoss) => Promise<void>;
  readonly everyMs?: number;
}

export interface LogLoss {
  /** The newest event seen before. */
  readonly from: SeenEvent;
  /** The end of the log when the loss was noticed; undefined: it was empty. */
  readonly to: Position | undefined;
}

const EVERY_MS = 500;

/**
 * Checks every half second that the log still has the newest event that this process has seen: for
 * processes that neither follow nor append. Other parts that notice a loss report it here.
 */
export class LogWatch {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private handling: Promise<void> = Promise.resolve();
  private stopListening: () => void = () => undefined;

  constructor(private readonly options: LogWatchOptions) {}

  start(): void {
    this.stopListening = this.options.log.onWentBack((from) => {
      this.handling = this.handling.then(() => this.lost(from)).catch(() => undefined);
    });
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.stopListening();
    await this.running;
    await this.handling;
  }

  private async run(): Promise<void> {
    const { log, everyMs = EVERY_MS } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await pause(everyMs, signal);
      // An unavailable log is compared later.
      if (!signal.aborted) await log.checkNewestSeen().catch(() => undefined);
    }
  }

  private async lost(from: SeenEvent): Promise<void> {
    const { log, logger, onLost } = this.options;
    const head = await this.head();
    if (head === undefined) return;
    const { to } = head;
    logger.error({ from: from.position, to: to ?? null, epoch: log.epoch }, 'log went back');
    for (;;) {
      try {
        return await onLost?.({ from, to });
      } catch {
        // Unavailable stores are retried; every follower of the log repairs as well.
        if (this.stopping.signal.aborted) return;
        await pause(EVERY_MS, this.stopping.signal);
      }
    }
  }

  /** Retries while the log is unavailable. Undefined: this process ends. */
  private async head(): Promise<{ readonly to: Position | undefined } | undefined> {
    while (!this.stopping.signal.aborted) {
      try {
        return { to: await this.options.log.head() };
      } catch (error) {
        if (!(error instanceof EventLogUnavailable)) throw error;
        await pause(EVERY_MS, this.stopping.signal);
      }
    }
    return undefined;
  }
}
