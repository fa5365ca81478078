import { CLOCK_RUNBOOK, isAhead, msAhead } from '../event-log/clock.js';
import type { EventLog } from '../event-log/event-log.js';
import { durationText } from '../foundation/duration.js';
import { pause } from '../foundation/pause.js';

export interface ClockWatchOptions {
  readonly log: Pick<EventLog, 'check'>;
  readonly logger: Readonly<Record<'info' | 'error', (fields: object, message: string) => void>>;
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;

/**
 * Compares the newest entry of the log with the clock of this process, and logs when it begins and
 * ends to be ahead. The log itself refuses the appends meanwhile.
 */
export class ClockWatch {
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private wasAhead = false;
  private seconds = 0;

  constructor(private readonly options: ClockWatchOptions) {}

  /** How far the newest entry is ahead of the clock, when it was compared last. */
  get aheadSeconds(): number {
    return this.seconds;
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      // An unavailable log is compared later.
      await this.compare().catch(() => undefined);
      await pause(this.options.everyMs ?? EVERY_MS, signal);
    }
  }

  private async compare(): Promise<void> {
    const { log, logger } = this.options;
    const newest = await log.check();
    const ms = msAhead(newest);
    this.seconds = ms / 1_000;
    const isNow = isAhead(newest);
    if (isNow === this.wasAhead) return;
    this.wasAhead = isNow;
    const facts = { position: newest.head ?? null, aheadSeconds: this.seconds };
    if (isNow)
      logger.error(
        { ...facts, ahead: durationText(ms), runbook: CLOCK_RUNBOOK },
        'the newest entry of the log is ahead of the clock: writes are refused',
      );
    else logger.info(facts, 'the newest entry of the log agrees with the clock again');
  }
}
