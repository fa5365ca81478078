import type { Logger } from '../foundation/logger.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { elapsed } from '../foundation/world.js';
import { describeFailure } from './describe-failure.js';
import {
  ALL_POLICIES,
  logParkedReaction,
  type ParkedAt,
  type ParkedStreams,
} from './parked-reactions.js';
import type { ParkedReactions } from './postgres-parked-reactions.js';
import type { CarryOut, Policy } from './policy.js';
import type { PolicyEvent } from './reading-events.js';

export interface EventReactionsParts {
  readonly parked: ParkedReactions;
  readonly carryOut: CarryOut;
  /** An error of an unavailable store, which stops all reactions. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Whether the stores answer. Does not reject. */
  readonly storesAnswer: () => Promise<boolean>;
  /** Called with the reason when all reactions stop. */
  readonly onWaiting: (error: unknown) => void;
  readonly logger: Pick<Logger, 'error'>;
  /** With more parked streams the fault is not in single accounts, and no event is passed over. */
  readonly parkedStreamsMax: number;
  /** A longer failure, while the stores answer, belongs to one reaction. */
  readonly outageMs: number;
}

/** Tries within a second, while the stream waits; then the reaction is parked. */
const TRIES_MAX = 5;
const TRY_AGAIN_MS = { first: 20, max: 2_000 };
/** After this many `outageMs` with other successes, an outage is the reaction's own. */
const OWN_OUTAGE_FACTOR = 5;

/** Too many streams are parked: no further event is passed over. */
class TooManyParked extends Error {
  override readonly name = 'TooManyParked';
}

/** This process no longer leads: the next leader continues. */
export class TurnEnded extends Error {
  override readonly name = 'TurnEnded';
}

/**
 * Carries out reactions, or records them as parked. Reactions to one stream keep their order: after
 * a parked one, the same policy's later reactions wait, since a later event may repeat it with
 * other terms; after an unreadable event all wait.
 */
export class EventReactions {
  private parked: ParkedStreams = new Map();
  /** Serialises access to parked rows, so that memory is never older than a write. */
  private recording: Promise<unknown> = Promise.resolve();
  /** Time of the first failure since any stream's success, so that all wait together. */
  private waitingSince: number | undefined;

  constructor(private readonly parts: EventReactionsParts) {}

  /** Reads the parked streams, when this process begins to lead. */
  async restore(): Promise<void> {
    this.parked = await this.inTurn(() => this.parts.parked.streams());
  }

  /** Their new events are passed over, unless retries have succeeded meanwhile. */
  async keepParked(streams: ReadonlySet<string>): Promise<void> {
    const known = [...streams].filter((stream) => this.parked.has(stream));
    if (known.length > 0) await this.inTurn(() => this.refreshParked(known));
  }

  /** Carries out or parks each reaction. @throws {TurnEnded}, and when it must be repeated. */
  async reactTo(met: PolicyEvent, signal: AbortSignal): Promise<void> {
    const { recorded, parkedAt, policies } = met;
    if (this.isParked(recorded.stream, ALL_POLICIES)) return;
    if (parkedAt) return this.park(parkedAt);
    for (const policy of policies) {
      if (this.isParked(recorded.stream, policy.name)) continue;
      try {
        await this.react(met, policy, signal);
      } catch (error) {
        if (error instanceof TurnEnded) throw error;
        await this.park({ policy: policy.name, event: recorded, reason: describeFailure(error) });
      }
    }
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.recording.then(work);
    this.recording = result.catch(() => undefined);
    return result;
  }

  private async refreshParked(streams: readonly string[]): Promise<void> {
    const still = await this.parts.parked.keepParked(streams);
    for (const stream of streams) {
      const policies = still.get(stream);
      if (policies) this.parked.set(stream, policies);
      else this.parked.delete(stream);
    }
  }

  private async react({ event }: PolicyEvent, policy: Policy, signal: AbortSignal): Promise<void> {
    if (!event) return;
    for (const reaction of policy.react(event)) {
      await this.again(() => this.parts.carryOut(event, policy.name, reaction), signal);
    }
  }

  private async again(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    let failingSince: number | undefined;
    for (let tries = 1; ; tries++) {
      try {
        await work();
        this.waitingSince = undefined;
        return;
      } catch (error) {
        if (signal.aborted) throw new TurnEnded();
        failingSince ??= elapsed();
        const isLast = this.parts.isUnavailable(error)
          ? !(await this.isOutage(error, failingSince))
          : tries >= TRIES_MAX;
        if (isLast) throw error;
        await pause(backOffMs(tries, TRY_AGAIN_MS), signal);
      }
    }
  }

  /** Of an error of an unavailable store. */
  private async isOutage(error: unknown, failingSince: number): Promise<boolean> {
    const { outageMs, storesAnswer, onWaiting } = this.parts;
    this.waitingSince ??= elapsed();
    const isLong =
      elapsed() - this.waitingSince > outageMs ||
      elapsed() - failingSince > OWN_OUTAGE_FACTOR * outageMs;
    if (isLong && (await storesAnswer())) return false;
    onWaiting(error);
    return true;
  }

  private park(parkedAt: ParkedAt): Promise<void> {
    return this.inTurn(async () => {
      const { policy, event } = parkedAt;
      const policies = this.parked.get(event.stream) ?? new Set<string>();
      if (policies.size === 0 && this.parked.size >= this.parts.parkedStreamsMax)
        throw new TooManyParked();
      await this.parts.parked.park(parkedAt);
      policies.add(policy);
      this.parked.set(event.stream, policies);
      logParkedReaction(this.parts.logger, parkedAt);
    });
  }

  private isParked(stream: string, policy: string): boolean {
    return this.parked.get(stream)?.has(policy) ?? false;
  }
}
