import type { EventLog, Position } from '../event-log/event-log.js';
import { lagAfter, stillSeconds } from '../event-log/lag.js';
import { errorNameAndCode } from '../foundation/describe-error.js';
import { atMost } from '../foundation/in-time.js';
import type { Logger } from '../foundation/logger.js';
import { pause } from '../foundation/pause.js';
import { Leadership, leadWhileStarted, type Locks } from '../postgres/leadership.js';
import type { ChainSealing } from './chain-sealing.js';
import type { SealStores } from './chain-seals.js';
import type { SealingStop } from './log-seal.js';

export interface ChainSealerOptions {
  readonly locks: Locks;
  readonly seals: SealStores;
  readonly log: EventLog;
  readonly sealing: ChainSealing;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /**
   * Longest time an event stays unsealed; each round writes a row for each tenant and mode with new
   * events.
   */
  readonly everyMs?: number;
}

export interface SealerStatus {
  readonly role: 'leader' | 'standby';
  readonly position: Position | null;
  /** Events after the position, counted up to a bound. */
  readonly lagEvents: number;
  /** Age of the oldest event that is not sealed; 0 at the head. */
  readonly lagSeconds: number;
  /** How long it has stood still although there are events. */
  readonly stillSeconds: number;
  readonly lastError: string | null;
}

const LOCK = 'chain-sealer';
const EVERY_MS = 5_000;
const STOP_WITHIN_MS = 1_000;
const RETRY = { first: 50, max: 5_000 };

const STOPS: Readonly<Record<SealingStop, string>> = {
  lost: 'the log lost its end: `ledger verify` names the lost events, `ledger acknowledge-loss` lets sealing continue',
  removed:
    'the last sealed event is missing in the log: `ledger verify` names the lost events, `ledger acknowledge-loss` lets sealing continue',
  'seal-removed': 'the seal of the log is missing: see `ledger verify`',
  'seal-signature':
    'the seal of the log was not signed here, or sealed events are missing: see `ledger verify`',
};

/**
 * Seals new events, round after round. One process leads (advisory lock), which only spares the
 * others the work: a write counts only on the checkpoint that it was made from.
 */
export class ChainSealer {
  private readonly stopping = new AbortController();
  private readonly leadership: Leadership;
  private running: Promise<void> | undefined;
  private interruption: string | null = null;
  /** Their newest seal stays invalid, also without new events in them. */
  private readonly broken = new Set<string>();
  private stopped: SealingStop | null = null;

  constructor(private readonly options: ChainSealerOptions) {
    this.leadership = new Leadership(options.locks, [LOCK]);
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the current batch, unless a store does not answer: the next leader seals the rest. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await atMost(STOP_WITHIN_MS, this.running ?? Promise.resolve());
    this.leadership.release();
  }

  get role(): SealerStatus['role'] {
    return this.leadership.held.size > 0 ? 'leader' : 'standby';
  }

  /** @throws when the database or the log is away. */
  async status(now: number): Promise<SealerStatus> {
    const { seals, log } = this.options;
    const { position, movedAt } = await seals(await log.id()).checkpoint();
    const lag = await lagAfter(log, position, await log.head(), now);
    return {
      role: this.role,
      position: position ?? null,
      ...lag,
      stillSeconds: stillSeconds(lag, movedAt, now),
      lastError: this.lastError,
    };
  }

  private get lastError(): string | null {
    if (this.interruption === null && this.stopped !== null) return STOPS[this.stopped];
    if (this.interruption !== null || this.broken.size === 0) return this.interruption;
    return `${this.broken.size} chains end in a seal that was not signed here`;
  }

  private async run(): Promise<void> {
    const everyMs = this.options.everyMs ?? EVERY_MS;
    await leadWhileStarted(
      {
        leadership: this.leadership,
        started: this.stopping.signal,
        everyMs,
        retryMs: RETRY,
        onInterrupted: (error) => this.noteInterruption(errorNameAndCode(error)),
        onStandby: () => (this.interruption = null),
      },
      // A turn for each round: failures are counted from the last round that was sealed.
      async (_, signal) => {
        await this.round(signal);
        this.interruption = null;
        await pause(everyMs, signal);
      },
    );
  }

  private noteInterruption(problem: string): void {
    if (problem !== this.interruption)
      this.options.logger.warn({ error: problem }, 'sealing is interrupted, retrying');
    this.interruption = problem;
  }

  private async round(signal: AbortSignal): Promise<void> {
    const known = this.broken.size;
    const { broken, stopped } = await this.options.sealing.sealToHead({ signal });
    if (stopped !== null && stopped !== this.stopped)
      this.options.logger.error({ reason: stopped }, STOPS[stopped]);
    this.stopped = stopped;
    for (const chain of broken) this.broken.add(chain);
    if (this.broken.size > known)
      this.options.logger.error(
        { chains: this.broken.size },
        'chains end in a seal that was not signed here',
      );
  }
}
