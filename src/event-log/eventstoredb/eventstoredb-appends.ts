import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { backOffMs, pause } from '../../foundation/pause.js';
import type { EventLogObserver } from '../event-log-observer.js';
import {
  AppendTooLarge,
  EventLogUnavailable,
  type ExpectedRevision,
  type NewEvent,
} from '../event-log.js';
import type { NewestSeen } from '../newest-seen.js';
import {
  asPortError,
  ConnectionChanged,
  exceptionOf,
  failureOf,
  NoAnswer,
  isOnlyUnavailable,
} from './eventstoredb-failures.js';
import { withDeadline, type EventStoreDbSessions, type Session } from './eventstoredb-sessions.js';
import type { WireAppendResult } from './eventstoredb-wire.js';

/** Limit of running appends; the server's deadline does not count for waiting ones. */
const RUNNING_APPENDS_MAX = 256;
const RETRY = { first: 20, max: 500 };

/** The log lost its end during an append. */
class OutcomeLost extends Error {}

export interface AppendRequest {
  /** Its name in the store. */
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly bytes: number;
  /** At the time of the call. */
  readonly epoch: number;
}

interface PendingAppend extends AppendRequest {
  /** By `performance.now`. */
  readonly deadline: number;
  readonly learn: (reason: EventLogUnavailable) => void;
}

/** The store's answer, and the log that gave it. */
interface AnsweredAppend {
  readonly result: WireAppendResult;
  readonly logId: string;
}

export interface AppendsOptions {
  readonly sessions: EventStoreDbSessions;
  readonly seen: NewestSeen;
  readonly closing: AbortSignal;
  /** Called before each append. @throws {LogAheadOfClock} */
  readonly checkClock: () => Promise<void>;
  readonly timeoutMs: number;
  readonly waitingMax: number;
  readonly observe: EventLogObserver | undefined;
}

/** Appends within their time, retried while the outcome is unknown. */
export class EventStoreDbAppends {
  private readonly slots = pLimit(RUNNING_APPENDS_MAX);
  private readonly pending = new Set<Promise<unknown>>();

  constructor(private readonly options: AppendsOptions) {
    // Every append that waits for a retry listens to this signal.
    setMaxListeners(0, options.closing);
  }

  /** @throws {EventLogUnavailable} when no further append is accepted. */
  admit(): void {
    if (this.options.closing.aborted) throw new EventLogUnavailable('the event log is closed');
    if (this.pending.size >= this.options.waitingMax)
      throw new EventLogUnavailable(`${this.pending.size} appends are waiting already`);
  }

  /** Resolves when all running appends are answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.pending);
  }

  /** @throws {AppendTooLarge} {EventLogUnavailable} */
  async append(asked: AppendRequest): Promise<AnsweredAppend> {
    const { timeoutMs } = this.options;
    /** The reason found by a try, more useful than "no answer". */
    let known: EventLogUnavailable | undefined;
    const learn = (reason: EventLogUnavailable): void => void (known = reason);
    const attempt = { ...asked, deadline: performance.now() + timeoutMs, learn };
    const work = withDeadline(
      timeoutMs,
      this.slots(async () => {
        await this.options.checkClock();
        return this.appendUntil(attempt);
      }),
    );
    this.pending.add(work);
    try {
      return await work;
    } catch (error) {
      if (error instanceof NoAnswer)
        throw known ?? new EventLogUnavailable(`no answer within ${timeoutMs} ms`);
      throw isOnlyUnavailable(error) ? (known ?? error) : error;
    } finally {
      this.pending.delete(work);
    }
  }

  /** Retries the identical append after any outcome: the store recognises events that it has. */
  private async appendUntil({
    stream,
    expected,
    events,
    bytes,
    deadline,
    learn,
    epoch,
  }: PendingAppend): Promise<AnsweredAppend> {
    // Leaves time for another try, on another connection.
    const tryMs = this.options.timeoutMs / 2;
    for (let tries = 0, sent = 0; ; tries++) {
      const left = deadline - performance.now();
      if (left <= 0) throw new NoAnswer('the time of the append is over');
      let session: Session | undefined;
      try {
        session = await withDeadline(left, this.options.sessions.current());
        // The log lost its end, and perhaps the state of the decision. Once sent, the outcome is
        // unknown.
        if (epoch !== this.options.seen.epoch) {
          if (sent > 0) throw new OutcomeLost();
          return { result: { kind: 'conflict', actual: expected }, logId: session.logId };
        }
        sent += 1;
        const ms = Math.min(tryMs, left);
        return {
          result: await withDeadline(ms, session.wire.append(stream, expected, events, ms)),
          logId: session.logId,
        };
      } catch (error) {
        if (error instanceof OutcomeLost)
          throw new EventLogUnavailable('the event log lost its end');
        if (error instanceof ConnectionChanged) sent -= 1;
        if (exceptionOf(error) === 'maximum-append-size-exceeded') throw new AppendTooLarge(bytes);
        if (error instanceof EventLogUnavailable && !isOnlyUnavailable(error)) learn(error);
        await this.onFailedTry(error, session, tries, deadline);
      }
    }
  }

  /** Waits for the next try. @throws the error for the caller when there is none. */
  private async onFailedTry(
    error: unknown,
    session: Session | undefined,
    tries: number,
    deadline: number,
  ): Promise<void> {
    const { observe } = this.options;
    const failure = failureOf(error);
    const isAway = error instanceof EventLogUnavailable || failure.kind === 'away';
    if (failure.kind === 'away' && failure.isOutcomeUnknown && session !== undefined)
      observe?.unknownOutcome?.();
    if (session !== undefined && isAway) await this.options.sessions.replace(session);
    const waitMs = backOffMs(tries, RETRY);
    // Closing answers waiting appends; it does not wait for an unavailable store.
    if (!isAway || this.options.closing.aborted || performance.now() + waitMs >= deadline)
      throw asPortError(error);
    observe?.retry?.(undefined);
    await pause(waitMs, this.options.closing);
  }
}
