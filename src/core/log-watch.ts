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
  /**
   * What is kept in the database is put right. Called once for each loss, after what this process
   * remembers was forgotten.
   */
  readonly onLost?: (loss: LogLoss) => Promise<void>;
  readonly everyMs?: number;
}

/** A log that lost its end. */
export interface LogLoss {
  /** The newest event that was seen before. */
  readonly from: SeenEvent;
  /** Where the log ended when that was noticed; undefined: it was empty. */
  readonly to: Position | undefined;
}

const EVERY_MS = 500;

/**
 * Looks every half second whether the log still ends in, or goes on behind, what this process has
 * seen of it: for processes that neither follow it nor append at the moment. Everything else that
 * notices a loss says so here as well.
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
      // A log that is away is compared when it is back.
      if (!signal.aborted) await log.look().catch(() => undefined);
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
        // A store that is away is waited for; whoever follows the log next does the same.
        if (this.stopping.signal.aborted) return;
        await pause(EVERY_MS, this.stopping.signal);
      }
    }
  }

  /** A log that is away again is waited for. Undefined: this process ends. */
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
