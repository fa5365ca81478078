import type { EventLog, Position } from '../event-log/event-log.js';
import { errorNameAndCode } from '../foundation/describe-error.js';
import { waitAtMost } from '../foundation/timeout.js';
import {
  handlerStatus,
  standing,
  type HandlerStatus,
  type Progress,
} from '../following/handler-status.js';
import type { FollowedPage, Handler, HandlerTurn } from '../following/handler.js';
import type { Logger } from '../foundation/logger.js';
import { pause } from '../foundation/pause.js';
import type { ChainSealing } from './chain-sealing.js';
import type { SealStores } from './chain-seals.js';
import type { SealingStop } from './log-seal.js';

export interface ChainSealerOptions {
  readonly seals: SealStores;
  readonly log: EventLog;
  readonly sealing: ChainSealing;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Longest time without a seal; each round writes a row per chain with new events. */
  readonly everyMs?: number;
}

const LOCK = 'chain-sealer';
const EVERY_MS = 5_000;
const STOP_WITHIN_MS = 1_000;

const STOPS: Readonly<Record<SealingStop, string>> = {
  lost: 'the log lost its end: `ledger verify` names the lost events, `ledger acknowledge-loss` lets sealing continue',
  removed:
    'the last sealed event is missing in the log: `ledger verify` names the lost events, `ledger acknowledge-loss` lets sealing continue',
  'seal-removed': 'the seal of the log is missing: see `ledger verify`',
  'seal-signature':
    'the seal of the log was not signed here, or sealed events are missing: see `ledger verify`',
};

/** Seals new events in rounds. Correct without a leader: one process only saves work. */
export class ChainSealer implements Handler<FollowedPage> {
  readonly name = LOCK;
  readonly worksLater = true;
  private at: Position | undefined;
  private turn: HandlerTurn | undefined;
  private sealing: Promise<void> = Promise.resolve();
  /** Chains whose newest seal is invalid, also without new events. */
  private readonly broken = new Set<string>();
  private stopped: SealingStop | null = null;

  constructor(private readonly options: ChainSealerOptions) {}

  get position(): Position | undefined {
    return this.at;
  }

  describe(error: unknown): string {
    return errorNameAndCode(error);
  }

  async begin(turn: HandlerTurn): Promise<void> {
    await this.end();
    this.at = await this.options.log.head();
    this.turn = turn;
    void this.repeat(turn);
  }

  /** The next round seals the events as the log then has them. */
  take({ last }: FollowedPage): Promise<void> {
    this.at = last;
    return Promise.resolve();
  }

  async end(): Promise<void> {
    this.turn = undefined;
    // A store may not answer: the next leader seals the rest.
    await waitAtMost(
      STOP_WITHIN_MS,
      this.sealing.catch(() => undefined),
    );
    this.sealing = Promise.resolve();
    this.at = undefined;
  }

  /** @throws when the database or the log is unavailable. */
  async status(now: number, follower: Progress): Promise<HandlerStatus> {
    const { seals, log } = this.options;
    const known = standing(follower, LOCK);
    return {
      ...known,
      ...(await handlerStatus({ log, now }, await seals(await log.id()).checkpoint())),
      lastError: known.lastError ?? this.obstacle,
    };
  }

  private get obstacle(): string | null {
    if (this.stopped !== null) return STOPS[this.stopped];
    return this.broken.size === 0
      ? null
      : `${this.broken.size} chains end in a seal that was not signed here`;
  }

  /** Also without new events: the last sealed one may be gone. */
  private async repeat(turn: HandlerTurn): Promise<void> {
    try {
      while (!turn.signal.aborted && this.turn === turn) {
        this.sealing = this.round(turn.signal);
        await this.sealing;
        turn.succeed();
        await pause(this.options.everyMs ?? EVERY_MS, turn.signal);
      }
    } catch (error) {
      turn.fail(error);
    }
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
