import type { RecordedEvent } from '../event-log/event-log.js';
import type { Logger } from '../foundation/logger.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { elapsed } from '../foundation/world.js';
import { describeFailure } from './describe-failure.js';
import {
  ALL_POLICIES,
  type ParkedReactions,
  type ParkedAt,
  type ParkedStreams,
} from './parked-reactions.js';
import type { CarryOut, Policy } from './policy.js';
import { meetEvents, type MetEvent, type ReadingOptions } from './reading-events.js';

export interface PageReactionsParts extends ReadingOptions {
  readonly parked: ParkedReactions;
  readonly carryOut: CarryOut;
  /** An error of an unavailable store, which stops all reactions. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Whether the stores answer. Does not reject. */
  readonly storesAnswer: () => Promise<boolean>;
  /** Called with the reason when all reactions stop. */
  readonly onWaiting: (error: unknown) => void;
  readonly logger: Pick<Logger, 'warn'>;
  /**
   * Limit of parked streams: above it the fault is not in single accounts, and no event is passed
   * over.
   */
  readonly parkedStreamsMax: number;
  /**
   * How long an apparent outage stops all reactions; a failure that lasts longer while the stores
   * answer belongs to one reaction.
   */
  readonly outageMs: number;
}

/** Streams that are reacted to in parallel; each in its own order. */
const AT_ONCE = 16;
/** Tries of a failing reaction, within a second, since the page waits for it. Then it is parked. */
const TRIES_MAX = 5;
const TRY_AGAIN_MS = { first: 20, max: 2_000 };

/** Too many streams are parked: no further event is passed over. */
class TooManyParked extends Error {
  override readonly name = 'TooManyParked';
}

/** This process no longer leads: the next leader continues. */
class TurnEnded extends Error {
  override readonly name = 'TurnEnded';
}

/** The reactions of one stream in a page. */
interface Lane {
  readonly stream: string;
  readonly events: MetEvent[];
  /** The event from which the stream is parked, in this page. */
  parkedAt?: ParkedAt;
}

/**
 * Reacts to pages of the log. At the end of a page each of its reactions was carried out or is
 * recorded as parked: then the checkpoint may move. Reactions to one stream keep their order:
 * behind a parked one the same policy's reactions wait, since a later event may repeat it with
 * other terms; behind an unreadable event all wait.
 */
export class PageReactions {
  private parked: ParkedStreams = new Map();
  /**
   * Since when no reaction succeeded; undefined: the newest one did. Over all streams, so that a
   * page waits once and not for each.
   */
  private waitingSince: number | undefined;

  constructor(private readonly parts: PageReactionsParts) {}

  /** Reads the parked streams. Call it when this process begins to lead. */
  async restore(): Promise<void> {
    this.parked = await this.parts.parked.streams();
  }

  /**
   * @returns whether the page had events for any policy. @throws when the page must be repeated
   * from its beginning.
   */
  async reactTo(page: readonly RecordedEvent[], signal: AbortSignal): Promise<boolean> {
    const met = await meetEvents(page, this.parts);
    if (met.length === 0) return false;
    await this.passOver(met);
    const lanes = this.lanesOf(met);
    await this.carryOutAll([...lanes], signal);
    // After the events before it: from here on any process that can read the event may retry the
    // stream.
    for (const { parkedAt } of lanes) if (parkedAt) await this.park(parkedAt);
    return true;
  }

  /**
   * Parked reactions may have been retried successfully in the meantime, here or in another
   * process; then this page's events are ours.
   */
  private async passOver(met: readonly MetEvent[]): Promise<void> {
    const streams = [...new Set(met.map(({ recorded }) => recorded.stream))].filter((stream) =>
      this.parked.has(stream),
    );
    if (streams.length === 0) return;
    const still = await this.parts.parked.passOver(streams);
    for (const stream of streams) {
      const policies = still.get(stream);
      if (policies) this.parked.set(stream, policies);
      else this.parked.delete(stream);
    }
  }

  private lanesOf(met: readonly MetEvent[]): readonly Lane[] {
    const lanes = new Map<string, Lane>();
    for (const event of met) {
      const { stream } = event.recorded;
      const lane = lanes.get(stream) ?? { stream, events: [] };
      lanes.set(stream, lane);
      if (lane.parkedAt || this.isParked(stream, ALL_POLICIES)) continue;
      if (event.parkedAt) lane.parkedAt = event.parkedAt;
      else lane.events.push(event);
    }
    return [...lanes.values()];
  }

  private async carryOutAll(waiting: Lane[], signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      for (let lane = waiting.shift(); lane && failures.length === 0; lane = waiting.shift()) {
        await this.inOrder(lane, signal).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (failures.length > 0) throw failures[0];
  }

  private async inOrder({ events }: Lane, signal: AbortSignal): Promise<void> {
    for (const met of events) {
      for (const policy of met.policies) {
        if (this.isParked(met.recorded.stream, policy.name)) continue;
        try {
          await this.react(met, policy, signal);
        } catch (error) {
          if (error instanceof TurnEnded) throw error;
          await this.park({
            policy: policy.name,
            event: met.recorded,
            reason: describeFailure(error),
          });
        }
      }
    }
  }

  private async react({ event }: MetEvent, policy: Policy, signal: AbortSignal): Promise<void> {
    if (!event) return;
    for (const reaction of policy.react(event)) {
      await this.again(() => this.parts.carryOut(event, policy.name, reaction), signal);
    }
  }

  private async again(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await work();
        this.waitingSince = undefined;
        return;
      } catch (error) {
        if (signal.aborted) throw new TurnEnded();
        if (this.parts.isUnavailable(error) ? !(await this.isOutage(error)) : tries >= TRIES_MAX)
          throw error;
        await pause(backOffMs(tries, TRY_AGAIN_MS), signal);
      }
    }
  }

  /** Of an error of an unavailable store. */
  private async isOutage(error: unknown): Promise<boolean> {
    this.waitingSince ??= elapsed();
    if (elapsed() - this.waitingSince > this.parts.outageMs && (await this.parts.storesAnswer()))
      return false;
    this.parts.onWaiting(error);
    return true;
  }

  private async park(parkedAt: ParkedAt): Promise<void> {
    const { policy, event, reason } = parkedAt;
    const policies = this.parked.get(event.stream) ?? new Set<string>();
    if (policies.size === 0 && this.parked.size >= this.parts.parkedStreamsMax)
      throw new TooManyParked();
    // Before the wait: other lanes park at the same time.
    this.parked.set(event.stream, policies);
    try {
      await this.parts.parked.park(parkedAt);
    } catch (error) {
      if (policies.size === 0) this.parked.delete(event.stream);
      throw error;
    }
    policies.add(policy);
    const message =
      policy === ALL_POLICIES
        ? 'a stream is held back'
        : 'a reaction failed again and again and is parked';
    this.parts.logger.warn({ policy, position: event.position, error: reason }, message);
  }

  private isParked(stream: string, policy: string): boolean {
    return this.parked.get(stream)?.has(policy) ?? false;
  }
}
