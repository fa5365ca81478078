import type { RecordedEvent } from '../event-log/event-log.js';
import type { Logger } from '../foundation/logger.js';
import { backOffMs, pause } from '../foundation/pause.js';
import { describeFailure } from './describe-failure.js';
import {
  ALL_POLICIES,
  type ParkedReactions,
  type Standstill,
  type StandingStreams,
} from './parked-reactions.js';
import type { CarryOut, Policy } from './policy.js';
import { meetEvents, type MetEvent, type ReadingOptions } from './reading-events.js';

export interface PageReactionsParts extends ReadingOptions {
  readonly parked: ParkedReactions;
  readonly carryOut: CarryOut;
  /** Of an error: a store is away, and everybody waits for it. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Whether the stores answer after all. Does not reject. */
  readonly storesAnswer: () => Promise<boolean>;
  /** Is told why reactions stand still for everybody. */
  readonly onWaiting: (error: unknown) => void;
  readonly logger: Pick<Logger, 'warn'>;
  /**
   * More streams than these do not stand still: then there is more wrong than single accounts, and
   * nothing is passed over.
   */
  readonly standingMax: number;
  /**
   * An outage is waited for so long; what goes on failing while the stores answer is one reaction's
   * own trouble.
   */
  readonly outageMs: number;
}

/** As many streams are reacted to at once; each in its own order. */
const AT_ONCE = 16;
/**
 * A reaction that fails for a reason of its own is tried so often, within a second: the page waits
 * for it. Then it is parked.
 */
const TRIES_MAX = 5;
const TRY_AGAIN_MS = { first: 20, max: 2_000 };

/** So many streams stand still that nothing more is passed over. */
class TooManyStandStill extends Error {
  override readonly name = 'TooManyStandStill';
}

/** This process does not lead any more: what it was at is the next one's. */
class TurnEnded extends Error {
  override readonly name = 'TurnEnded';
}

/** What a page asks of one stream. */
interface Lane {
  readonly stream: string;
  readonly events: MetEvent[];
  /** Where the stream is held back from, in this page. */
  standstill?: Standstill;
}

/**
 * Reacts to pages of the log. When a page is done, each of its reactions was carried out or is on
 * record as standing still: then the checkpoint may move. Reactions to one stream keep their order:
 * behind one that is parked the same policy's wait, since a later event may say the same with other
 * terms; behind an event that cannot be read all wait, since nobody knows what it says.
 */
export class PageReactions {
  private standing: StandingStreams = new Map();
  /**
   * Since when nothing got through; undefined: the newest reaction did. Of all streams, so that a
   * page waits once and not for each.
   */
  private waitingSince: number | undefined;

  constructor(private readonly parts: PageReactionsParts) {}

  /** Reads what stands still. To be called when this process begins to lead. */
  async restore(): Promise<void> {
    this.standing = await this.parts.parked.standing();
  }

  /**
   * @returns whether any policy had to look at it. @throws when the page is to be done again, from
   * its beginning.
   */
  async reactTo(page: readonly RecordedEvent[], signal: AbortSignal): Promise<boolean> {
    const met = await meetEvents(page, this.parts);
    if (met.length === 0) return false;
    await this.passOver(met);
    const lanes = this.lanesOf(met);
    await this.carryOutAll([...lanes], signal);
    // After what comes before it: from here on any process that can read the event may take the
    // stream up.
    for (const { standstill } of lanes) if (standstill) await this.park(standstill);
    return true;
  }

  /**
   * What stands still may have been taken up by now, here or in another process; then this page's
   * events are for us.
   */
  private async passOver(met: readonly MetEvent[]): Promise<void> {
    const streams = [...new Set(met.map(({ recorded }) => recorded.stream))].filter((stream) =>
      this.standing.has(stream),
    );
    if (streams.length === 0) return;
    const still = await this.parts.parked.passOver(streams);
    for (const stream of streams) {
      const policies = still.get(stream);
      if (policies) this.standing.set(stream, policies);
      else this.standing.delete(stream);
    }
  }

  private lanesOf(met: readonly MetEvent[]): readonly Lane[] {
    const lanes = new Map<string, Lane>();
    for (const event of met) {
      const { stream } = event.recorded;
      const lane = lanes.get(stream) ?? { stream, events: [] };
      lanes.set(stream, lane);
      if (lane.standstill || this.stands(stream, ALL_POLICIES)) continue;
      if (event.standstill) lane.standstill = event.standstill;
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
        if (this.stands(met.recorded.stream, policy.name)) continue;
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

  /** Of an error that says so. */
  private async isOutage(error: unknown): Promise<boolean> {
    this.waitingSince ??= performance.now();
    if (
      performance.now() - this.waitingSince > this.parts.outageMs &&
      (await this.parts.storesAnswer())
    )
      return false;
    this.parts.onWaiting(error);
    return true;
  }

  private async park(standstill: Standstill): Promise<void> {
    const { policy, event, reason } = standstill;
    const policies = this.standing.get(event.stream) ?? new Set<string>();
    if (policies.size === 0 && this.standing.size >= this.parts.standingMax)
      throw new TooManyStandStill();
    // Before the wait: other lanes park at the same time.
    this.standing.set(event.stream, policies);
    try {
      await this.parts.parked.park(standstill);
    } catch (error) {
      if (policies.size === 0) this.standing.delete(event.stream);
      throw error;
    }
    policies.add(policy);
    const message =
      policy === ALL_POLICIES
        ? 'a stream is held back'
        : 'a reaction failed again and again and is parked';
    this.parts.logger.warn({ policy, position: event.position, error: reason }, message);
  }

  private stands(stream: string, policy: string): boolean {
    return this.standing.get(stream)?.has(policy) ?? false;
  }
}
