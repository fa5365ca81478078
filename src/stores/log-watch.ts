import type { EventLog, SeenEvent } from '../event-log/event-log.js';
import { pause } from '../foundation/pause.js';

export interface LogWatchOptions {
  readonly log: EventLog;
  readonly logger: { error(fields: object, message: string): void };
  /**
   * Repairs the database. Called once per loss with the newest event seen before, after this
   * process's caches were emptied.
   */
  readonly onLost: (from: SeenEvent) => Promise<void>;
  readonly everyMs?: number;
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
      this.handling = this.handling.then(() => this.lost(from));
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

  /** Unavailable stores are retried; every follower of the log repairs as well. */
  private async lost(from: SeenEvent): Promise<void> {
    const { log, logger, onLost } = this.options;
    const { signal } = this.stopping;
    for (let isLogged = false; !signal.aborted; await pause(EVERY_MS, signal)) {
      try {
        if (!isLogged) {
          const to = (await log.head()) ?? null;
          logger.error({ from: from.position, to, epoch: log.epoch }, 'log went back');
          isLogged = true;
        }
        return await onLost(from);
      } catch {
        continue;
      }
    }
  }
}
