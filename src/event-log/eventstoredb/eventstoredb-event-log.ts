import { timeNow } from '../../foundation/world.js';
import { checkAppend, InvalidAppend } from '../append-checks.js';
import { Doorbell } from '../doorbell.js';
import type { EventLogOptions } from '../event-log-observer.js';
import {
  LogWentBack,
  type AppendResult,
  type EventLog,
  type ExpectedRevision,
  type LogCheck,
  type NewEvent,
  type Position,
  type ReadStreamOptions,
  type RecordedEvent,
  type SeenEvent,
  type StreamEnd,
} from '../event-log.js';
import type { EventStoreAddress } from '../../config/event-store-url.js';
import { withOrigins } from '../first-recorded.js';
import { followPages } from '../follow-pages.js';
import { NewestSeen } from '../newest-seen.js';
import { ClockCheck } from './eventstoredb-clock.js';
import { EventStoreDbAppends } from './eventstoredb-appends.js';
import { EventStoreDbEventReader } from './eventstoredb-event-reader.js';
import { comparePositions, parseToken, positionOf, tokenOf } from './eventstoredb-positions.js';
import { EventStoreDbReads } from './eventstoredb-reads.js';
import { SeenComparison } from './eventstoredb-seen.js';
import { EventStoreDbSessions } from './eventstoredb-sessions.js';
import { EventStoreDbSubscription } from './eventstoredb-subscription.js';
import type { WirePosition } from './eventstoredb-wire.js';

export interface EventStoreDbEventLogOptions extends EventLogOptions {
  readonly address: EventStoreAddress;
  /** The owner of the log: equal for all processes of one ledger. */
  readonly owner: string;
  /** Prefix of all stream names, so that several logs can share a store. Default: none. */
  readonly namespace?: string;
  /** Prefixes of this log's streams after the namespace. */
  readonly prefix: string;
  /** Called before the first read or append. @throws {EventLogUnavailable} to forbid it. */
  readonly accept?: (logId: string) => Promise<void>;
  /** A subscription that does not report a read event within this time is opened anew. */
  readonly deafAfterMs?: number;
}

const FOLLOW_PAGE = 1_000;
const DEAF_AFTER_MS = 5_000;

/**
 * The event log on EventStoreDB. Prefixes separate its streams from those of other users; the
 * server filters reads by them. Every call goes to the leader: a tail that passes events which a
 * lagging follower did not show would lose them.
 */
export class EventStoreDbEventLog implements EventLog {
  private readonly sessions: EventStoreDbSessions;
  private readonly seen = new NewestSeen();
  private readonly doorbell = new Doorbell();
  private readonly subscription: EventStoreDbSubscription;
  private readonly closing = new AbortController();
  private readonly appends: EventStoreDbAppends;
  private readonly reads: EventStoreDbReads;
  private readonly comparison: SeenComparison;
  private readonly events: EventStoreDbEventReader;
  private readonly clock: ClockCheck;
  private readonly namespace: string;
  private closed: Promise<void> | undefined;

  /** Opens without a call to the store, which may be unavailable. */
  constructor(private readonly options: EventStoreDbEventLogOptions) {
    const { seen } = this;
    const closing = this.closing.signal;
    const { namespace = '', readTimeoutMs = 4_000, observe } = options;
    const appendTimeoutMs = options.address.defaultDeadline ?? options.appendTimeoutMs ?? 4_000;
    const prefix = `${namespace}${options.prefix}`;
    this.namespace = namespace;
    this.sessions = new EventStoreDbSessions({
      address: options.address,
      owner: options.owner,
      identityStream: `${prefix}log`,
      openTimeoutMs: Math.min(readTimeoutMs, appendTimeoutMs),
      ...(options.accept === undefined ? {} : { accept: options.accept }),
      onConnected: (wire, ms) => this.comparison.runOn(wire, ms),
    });
    const { sessions } = this;
    this.appends = new EventStoreDbAppends({
      sessions,
      seen,
      closing,
      checkClock: () => (options.acceptsClock === true ? Promise.resolve() : this.clock.check()),
      timeoutMs: appendTimeoutMs,
      waitingMax: options.waitingAppendsMax ?? 10_000,
      observe,
    });
    this.clock = new ClockCheck(seen, () => this.events.newestEvent(), appendTimeoutMs / 2);
    this.reads = new EventStoreDbReads({
      sessions,
      seen,
      noteTime: (ordinal, recordedAt) => this.clock.note(ordinal, recordedAt),
      prefix,
      timeoutMs: readTimeoutMs,
      closing,
    });
    this.comparison = new SeenComparison(seen, this.reads);
    this.events = new EventStoreDbEventReader({
      reads: this.reads,
      seen,
      comparison: this.comparison,
      namespace,
      prefix,
    });
    this.subscription = new EventStoreDbSubscription({
      sessions,
      doorbell: this.doorbell,
      prefix,
      deafAfterMs: options.deafAfterMs ?? DEAF_AFTER_MS,
      onRestart: () => observe?.subscriptionRestart?.(),
    });
  }

  get newestSeen(): SeenEvent | undefined {
    return this.seen.newest;
  }

  get epoch(): number {
    return this.seen.epoch;
  }

  onWentBack(listener: (from: SeenEvent) => void): () => void {
    return this.seen.onWentBack(listener);
  }

  checkNewestSeen(): Promise<void> {
    return this.comparison.run();
  }

  holds(event: SeenEvent): Promise<boolean> {
    return this.comparison.holds(event);
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    const bytes = checkAppend(stream, expected, events);
    const { prefix, observe } = this.options;
    if (!stream.startsWith(prefix))
      throw new InvalidAppend(`a stream's name begins with ${prefix}: another would never be read`);
    this.appends.admit();
    const startedAt = performance.now();
    const { epoch } = this.seen;
    if (end !== undefined && end.epoch !== epoch)
      return { kind: 'conflict', expected, actual: expected };
    try {
      const { result, logId } = await this.appends.append({
        stream: `${this.namespace}${stream}`,
        expected,
        events: withOrigins(events),
        bytes,
        epoch,
      });
      observe?.append?.(performance.now() - startedAt, result.kind);
      if (result.kind === 'conflict') return { kind: 'conflict', expected, actual: result.actual };
      const { position, revision } = result;
      const token = tokenOf(logId, position);
      const eventId = events.at(-1)?.id ?? '';
      this.comparison.appended({ ordinal: position.commit, position: token, eventId }, epoch);
      this.clock.note(position.commit, timeNow());
      this.doorbell.ring(position.commit);
      this.subscription.expect(position.commit);
      return { kind: 'appended', position: token, revision };
    } catch (error) {
      observe?.append?.(performance.now() - startedAt, 'failed');
      throw error;
    }
  }

  readStream(
    stream: string,
    options?: ReadStreamOptions,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    return this.events.readStream(stream, options);
  }

  readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    return this.events.readAll(after, limit);
  }

  /** @throws {TypeError} for a position of another log. Ends when the log is closed. */
  async *follow(
    after: Position | undefined,
    {
      signal,
      pageSize = FOLLOW_PAGE,
    }: { readonly signal: AbortSignal; readonly pageSize?: number },
  ): AsyncGenerator<readonly RecordedEvent[], void, undefined> {
    const silence = this.subscription.listen();
    const { epoch } = this.seen;
    try {
      yield* followPages({
        start: this.parsed(after),
        read: async (cursor, rung) => {
          if (epoch !== this.seen.epoch) throw new LogWentBack();
          // Without a report, other users' events are skipped and not read again.
          const page = rung
            ? await this.events.readPage(cursor, pageSize)
            : await this.events.readNextPage(cursor, pageSize);
          // The subscription has to report the events that were read here.
          if (page.events.length > 0) this.subscription.expect(page.next.commit);
          if (epoch !== this.seen.epoch) throw new LogWentBack();
          return page;
        },
        ordinal: ({ commit }) => commit,
        doorbell: this.doorbell,
        pollIntervalMs: this.options.pollIntervalMs ?? 1_000,
        endings: [signal, this.closing.signal],
      });
    } finally {
      silence();
    }
  }

  head(): Promise<Position | undefined> {
    return this.events.head();
  }

  /** @throws {TypeError} for a position of another log. */
  compare(a: Position | undefined, b: Position | undefined): number {
    return comparePositions(this.parsed(a), this.parsed(b));
  }

  /** @throws {TypeError} for a position of another log. */
  order(position: Position): bigint {
    return this.parsed(position).commit;
  }

  /** By the form alone until the store was first reached and the log's identity is known. */
  isPosition(text: string): boolean {
    return parseToken(text, this.sessions.logId) !== undefined;
  }

  async id(): Promise<string> {
    return (await this.reads.session()).logId;
  }

  async check(): Promise<LogCheck> {
    const { version } = await this.reads.session();
    const newest = await this.events.newestEvent();
    const store = `eventstoredb ${version}`;
    return { store, head: newest?.position, recordedAt: newest?.recordedAt };
  }

  /** Answers waiting appends in their time, ends tails, closes connections. */
  close(): Promise<void> {
    this.closing.abort();
    this.subscription.stop();
    this.closed ??= (async () => {
      await this.appends.settled();
      await this.sessions.close();
    })();
    return this.closed;
  }

  private parsed(position: Position | undefined): WirePosition {
    return positionOf(position, this.sessions.logId);
  }
}
