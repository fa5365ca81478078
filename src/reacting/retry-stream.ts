import type { EventLog, RecordedEvent } from '../event-log/event-log.js';
import { pages } from '../event-log/event-pages.js';
import type { Logger } from '../foundation/logger.js';
import { describeFailure } from './describe-failure.js';
import {
  ALL_POLICIES,
  logParkedReaction,
  type ParkedReaction,
  type Settlement,
  type ParkedAt,
} from './parked-reactions.js';
import type { ParkedReactions } from './postgres-parked-reactions.js';
import type { CarryOut } from './policy.js';
import { decodePolicyEvents, type PolicyEvent, type ReadingOptions } from './reading-events.js';

export interface RetryParts extends ReadingOptions {
  readonly parked: ParkedReactions;
  readonly log: Pick<EventLog, 'readStream'>;
  readonly carryOut: CarryOut;
  readonly logger: Pick<Logger, 'error'>;
  /** A reaction that an operator ends without running it; later ones run. */
  readonly skipped?: Pick<ParkedReaction, 'eventId' | 'policy'>;
}

/** Reads of a stream whose events are passed over during its retry; then it is retried later. */
const ROUNDS_MAX = 20;

/**
 * Retries the parked reactions of one stream, once each and in order, from the recorded event to
 * the end of the stream, and deletes the record. Failures stay recorded at their event.
 * @throws when the stores are unavailable, with the record unchanged.
 */
export async function retryStream(
  parts: RetryParts,
  stream: string,
  signal: AbortSignal,
): Promise<void> {
  const names = new Set([ALL_POLICIES, ...parts.policies.map(({ name }) => name)]);
  const all = await parts.parked.ofStream(stream);
  const foreign = all.filter(({ policy }) => !names.has(policy));
  if (foreign.length > 0) await parts.parked.postpone(foreign, 'this release has no such policy');
  let rows = all.filter(({ policy }) => names.has(policy));
  const run = new StreamRun(parts, stream, rows);
  for (let round = 0; round < ROUNDS_MAX && rows.length > 0 && !signal.aborted; round++) {
    if (!(await run.toTheEnd(signal))) return;
    const outcome = run.outcome(rows);
    const isSettled = await parts.parked.settle(stream, outcome);
    for (const parkedAt of newlyParked(outcome)) logParkedReaction(parts.logger, parkedAt);
    if (isSettled) return;
    // Events that are passed over after this read leave a newer mark than these rows have.
    const remaining = new Set(outcome.done.map(({ id }) => id));
    rows = (await parts.parked.ofStream(stream)).filter(({ id }) => remaining.has(id));
  }
}

/** Parked before at another event, or not at all. */
const newlyParked = ({ added, stopped }: Settlement): readonly ParkedAt[] => [
  ...added,
  ...stopped.flatMap(({ rows, to }) =>
    rows.some(({ eventId }) => eventId === to.event.id) ? [] : [to],
  ),
];

/** One pass over a stream. */
class StreamRun {
  /** The event at which each policy continues; policies without parked reactions are absent. */
  private readonly starts = new Map<string, bigint>();
  private readonly failed = new Map<string, ParkedAt>();
  /** Failures that are already recorded. */
  private readonly recorded = new Set<string>();
  private blocked: ParkedAt | undefined;
  /** After the last event read. */
  private next: bigint | undefined;

  constructor(
    private readonly parts: RetryParts,
    private readonly stream: string,
    rows: readonly ParkedReaction[],
  ) {
    for (const { policy: parked, revision } of rows) {
      const concerned = parked === ALL_POLICIES ? parts.policies.map(({ name }) => name) : [parked];
      for (const policy of concerned)
        this.starts.set(policy, earlier(this.starts.get(policy), revision));
      this.next = earlier(this.next, revision);
    }
  }

  /** False when it was interrupted: the outcome is unknown then. */
  async toTheEnd(signal: AbortSignal): Promise<boolean> {
    if (this.next === undefined) return true;
    for await (const page of pages(this.parts.log.readStream(this.stream, { from: this.next }))) {
      if (!(await this.react(page, signal))) return false;
      if (this.blocked) return true;
    }
    return true;
  }

  private async react(page: readonly RecordedEvent[], signal: AbortSignal): Promise<boolean> {
    for (const met of await decodePolicyEvents(page, this.parts)) {
      if (signal.aborted) return false;
      if (met.parkedAt && this.isSkipped(met.recorded, ALL_POLICIES)) continue;
      if (met.parkedAt) {
        this.blocked = met.parkedAt;
        return true;
      }
      await this.carryOut(met);
    }
    const last = page.at(-1);
    if (last) this.next = last.revision + 1n;
    return true;
  }

  private async carryOut({ event, policies, recorded }: PolicyEvent): Promise<void> {
    for (const policy of policies) {
      const start = this.starts.get(policy.name);
      if (
        !event ||
        start === undefined ||
        recorded.revision < start ||
        this.failed.has(policy.name) ||
        this.isSkipped(recorded, policy.name)
      )
        continue;
      try {
        for (const reaction of policy.react(event))
          await this.parts.carryOut(event, policy.name, reaction);
      } catch (error) {
        this.failed.set(policy.name, {
          policy: policy.name,
          event: recorded,
          reason: describeFailure(error),
        });
      }
    }
  }

  private isSkipped({ id }: RecordedEvent, policy: string): boolean {
    const { skipped } = this.parts;
    return skipped?.eventId === id && skipped.policy === policy;
  }

  /** One row stays for each policy that is still parked. */
  outcome(rows: readonly ParkedReaction[]): Settlement {
    const byPolicy = new Map<string, ParkedReaction[]>();
    for (const row of rows) byPolicy.set(row.policy, [...(byPolicy.get(row.policy) ?? []), row]);
    const stopped: { rows: readonly ParkedReaction[]; to: ParkedAt }[] = [];
    const done: ParkedReaction[] = [];
    for (const [policy, own] of byPolicy) {
      const to = this.furthestParked(policy);
      if (to) stopped.push({ rows: own, to });
      else done.push(...own);
    }
    const added = [...this.failed]
      .filter(([policy]) => !byPolicy.has(policy) && !this.recorded.has(policy))
      .map(([, to]) => to);
    for (const policy of this.failed.keys()) this.recorded.add(policy);
    return { stopped, added, done };
  }

  /** Includes that of the row of all policies, which another process may be deleting. */
  private furthestParked(policy: string): ParkedAt | undefined {
    if (policy === ALL_POLICIES) return this.blocked;
    return this.failed.get(policy) ?? (this.blocked && { ...this.blocked, policy });
  }
}

const earlier = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);
