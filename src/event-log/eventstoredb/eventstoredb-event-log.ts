import { setMaxListeners } from 'node:events';
import pLimit from 'p-limit';
import { backOffMs, pause } from '../../foundation/pause.js';
import { checkAppend, InvalidAppend } from '../append-checks.js';
import { Doorbell } from '../doorbell.js';
import type { EventLogObserver } from '../event-log-observer.js';
import {
  AppendTooLarge,
  EventLogUnavailable,
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
import type { EventStoreAddress } from '../event-store-url.js';
import { asFirstRecorded, withOrigins } from '../first-recorded.js';
import { followPages, type TailPage } from '../follow-pages.js';
import { NewestSeen } from '../newest-seen.js';
import {
  asPortError,
  ConnectionChanged,
  exceptionOf,
  failureOf,
  mayBeNoPosition,
  NoAnswer,
  saysOnlyAway,
} from './eventstoredb-failures.js';
import { EventStoreDbSessions, within, type Session } from './eventstoredb-sessions.js';
import { EventStoreDbSubscription } from './eventstoredb-subscription.js';
import type {
  EventStoreDbWire,
  WireAppendResult,
  WireEvent,
  WirePage,
  WirePosition,
  WireRead,
} from './eventstoredb-wire.js';

export interface EventStoreDbEventLogOptions {
  readonly address: EventStoreAddress;
  /**
   * The owner of the log: the same for all processes of a ledger, another one for another ledger.
   */
  readonly owner: string;
  /**
   * The prefix of every stream's name in the store, so that several logs can share it. Default:
   * none.
   */
  readonly namespace?: string;
  /**
   * The prefixes of this log's streams, behind the namespace; all other streams belong to other
   * users of the store.
   */
  readonly prefix: string;
  /**
   * Called before the first read of or append to a log of this identity. @throws
   * {EventLogUnavailable} when the log must not be used.
   */
  readonly accept?: (logId: string) => Promise<void>;
  /** An append returns within this time, or throws `EventLogUnavailable`. */
  readonly appendTimeoutMs?: number;
  /**
   * A read without a message for this long, from a store that answers no other call either, throws
   * `EventLogUnavailable`.
   */
  readonly readTimeoutMs?: number;
  /** Limit of waiting appends; more are refused with `EventLogUnavailable`. */
  readonly waitingAppendsMax?: number;
  /** How often a tail reads without being woken. */
  readonly pollIntervalMs?: number;
  /**
   * A subscription that does not report an event within this time after it was read is opened anew.
   */
  readonly deafAfterMs?: number;
  readonly observe?: EventLogObserver;
}

const STREAM_PAGE = 1_000;
const FOLLOW_PAGE = 1_000;
/** Limit of appends under way; the server's deadline does not count for those that wait here. */
const APPENDS_AT_ONCE = 256;
const RETRY = { first: 20, max: 500 };
/**
 * A server that names the ends of streams and still returned this many empty reads without an end
 * is shutting down.
 */
const ENDS_UNNAMED_MAX = 10;
/**
 * Limit of a filtered read: in a busy shared store it may search for long before it finds an event.
 */
const SCAN_MS_MAX = 600_000;
const DEAF_AFTER_MS = 5_000;
const NUMBER_MAX = 2n ** 64n - 1n;
/** A page, how far it reached, and whether that was the end of the store. */
interface Look extends TailPage<WirePosition> {
  /** Of the newest event in it. */
  readonly last: WirePosition | undefined;
  readonly isAtEnd: boolean;
}

/** The log lost its end while an append was under way. */
class OutcomeLost extends Error {}

/** An append under way. */
interface PendingAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly bytes: number;
  /** By `performance.now`. */
  readonly deadline: number;
  readonly learn: (reason: EventLogUnavailable) => void;
  /** At the time of the call. */
  readonly epoch: number;
}

const BEFORE_ALL: WirePosition = { commit: -1n, prepare: -1n };

/**
 * The event log on EventStoreDB. Its streams are distinguished from other users' streams by the
 * prefix of their names; reads filter by prefix on the server. Every call goes to the leader: a
 * follower may lag, and a tail that moves past events which a lagging node did not show would lose
 * them.
 *
 * Position tokens: the first eight hex digits of the log's id, commit and prepare position as
 * decimals, with dashes between.
 */
export class EventStoreDbEventLog implements EventLog {
  private readonly sessions: EventStoreDbSessions;
  private readonly seen = new NewestSeen();
  private readonly doorbell = new Doorbell();
  private readonly subscription: EventStoreDbSubscription;
  private readonly closing = new AbortController();
  private readonly slots = pLimit(APPENDS_AT_ONCE);
  private readonly pending = new Set<Promise<unknown>>();
  private readonly namespace: string;
  /** Behind the namespace. */
  private readonly prefix: string;
  private readonly appendTimeoutMs: number;
  private readonly readTimeoutMs: number;
  private closed: Promise<void> | undefined;
  /** The newest event of this log, and up to where no other event of this log follows it. */
  private newest:
    { readonly last: WirePosition | undefined; readonly upTo: WirePosition } | undefined;

  /** Opens without a call to the store, which may be unavailable. */
  constructor(private readonly options: EventStoreDbEventLogOptions) {
    // Every append that waits for a retry listens to this signal.
    setMaxListeners(0, this.closing.signal);
    this.seen.onWentBack(() => (this.newest = undefined));
    this.namespace = options.namespace ?? '';
    this.prefix = options.prefix;
    this.appendTimeoutMs = options.address.defaultDeadline ?? options.appendTimeoutMs ?? 4_000;
    this.readTimeoutMs = options.readTimeoutMs ?? 4_000;
    this.sessions = new EventStoreDbSessions({
      address: options.address,
      owner: options.owner,
      identityStream: `${this.namespace}${this.prefix}log`,
      openTimeoutMs: Math.min(this.readTimeoutMs, this.appendTimeoutMs),
      ...(options.accept === undefined ? {} : { accept: options.accept }),
      onConnected: (wire, ms) => this.compareSeen(wire, ms),
    });
    this.subscription = new EventStoreDbSubscription({
      sessions: this.sessions,
      doorbell: this.doorbell,
      prefix: `${this.namespace}${this.prefix}`,
      deafAfterMs: options.deafAfterMs ?? DEAF_AFTER_MS,
      onRestart: () => options.observe?.subscriptionRestart?.(),
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

  /** @throws {EventLogUnavailable} */
  async checkNewestSeen(): Promise<void> {
    const { epoch, newest } = this.seen;
    if (newest !== undefined && !(await this.holds(newest))) this.seen.wentBack(newest, epoch);
  }

  async holds({ position, eventId }: SeenEvent): Promise<boolean> {
    const at = this.parse(position);
    if (at === undefined) return false;
    const { wire } = await this.session();
    // Until the store was first reached it is unknown whose position it is.
    if (this.parse(position) === undefined) return false;
    try {
      return await holdsOn(wire, { position: at, eventId }, this.readTimeoutMs);
    } catch (error) {
      throw asPortError(error);
    }
  }

  async append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    end?: StreamEnd,
  ): Promise<AppendResult> {
    const bytes = checkAppend(stream, expected, events);
    if (!stream.startsWith(this.prefix))
      throw new InvalidAppend(
        `a stream's name begins with ${this.prefix}: another would never be read`,
      );
    if (this.closing.signal.aborted) throw new EventLogUnavailable('the event log is closed');
    const { waitingAppendsMax = 10_000, observe } = this.options;
    if (this.pending.size >= waitingAppendsMax)
      throw new EventLogUnavailable(`${this.pending.size} appends are waiting already`);
    const startedAt = performance.now();
    const { epoch } = this.seen;
    if (end !== undefined && end.epoch !== epoch)
      return { kind: 'conflict', expected, actual: expected };
    const work = this.appendInTime({
      stream: `${this.namespace}${stream}`,
      expected,
      events: withOrigins(events),
      bytes,
      deadline: startedAt + this.appendTimeoutMs,
    });
    this.pending.add(work);
    try {
      const { result, logId } = await work;
      observe?.append?.(performance.now() - startedAt, result.kind);
      if (result.kind === 'conflict') return { kind: 'conflict', expected, actual: result.actual };
      this.noteAppended(token(logId, result.position), result.position, events, epoch);
      this.doorbell.ring(result.position.commit);
      this.subscription.expect(result.position.commit);
      return {
        kind: 'appended',
        position: token(logId, result.position),
        revision: result.revision,
      };
    } catch (error) {
      observe?.append?.(performance.now() - startedAt, 'failed');
      throw error;
    } finally {
      this.pending.delete(work);
    }
  }

  async *readStream(
    stream: string,
    { from = 0n, end }: ReadStreamOptions = {},
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    if (end === undefined) return yield* this.readStreamFrom(stream, from);
    if (end.epoch !== this.seen.epoch) throw new LogWentBack();
    let isKnownThere = false;
    let isReplaced = false;
    for await (const event of this.readStreamFrom(stream, end.revision)) {
      if (isKnownThere) yield event;
      else if (event.id === end.eventId && event.revision === end.revision) isKnownThere = true;
      else {
        isReplaced = true;
        break;
      }
    }
    if (isKnownThere) return;
    // An empty page may be a read that the server broke off: the newest event shows more.
    if (isReplaced) this.lost(end.epoch);
    else await this.checkNewestSeen();
    throw new LogWentBack();
  }

  private async *readStreamFrom(
    stream: string,
    from: bigint,
  ): AsyncGenerator<RecordedEvent, void, undefined> {
    for (let next = from, empty = 0; ;) {
      const { events, isEndNamed } = await this.read({
        of: { stream: `${this.namespace}${stream}`, from: next },
        count: STREAM_PAGE,
      });
      yield* events.map((event) => this.recorded(event));
      const last = events.at(-1);
      if (last !== undefined) next = last.revision + 1n;
      empty = last === undefined ? empty + 1 : 0;
      if (events.length === STREAM_PAGE) continue;
      if (isEndNamed) return;
      // A server that never names an end is believed when it returns an empty page twice.
      if (empty >= 2 && !(await this.session()).namesEnds) return;
      if (empty >= ENDS_UNNAMED_MAX)
        throw new EventLogUnavailable('EventStoreDB ends reads before their end');
    }
  }

  async readAll(after: Position | undefined, limit: number): Promise<readonly RecordedEvent[]> {
    let cursor = this.parsed(after);
    const { events } = await this.readPage(cursor, limit);
    if (events.length > 0) return events;
    // The answer does not name an end: it is complete when the end was seen.
    for (;;) {
      const look = await this.readOn(cursor, limit);
      if (look.events.length > 0 || look.isAtEnd) return look.events;
      cursor = look.next;
    }
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
          const page = await this.readTail(cursor, pageSize, rung);
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

  /**
   * Starts where no event of this log came before, so that other users' events are passed over once
   * and not at every call.
   */
  async head(): Promise<Position | undefined> {
    const { epoch } = this.seen;
    let { last, upTo } = this.newest ?? (await this.findNewest());
    for (let isAtEnd = false; !isAtEnd;) {
      const look = await this.readOn(upTo, FOLLOW_PAGE);
      last = look.last ?? last;
      upTo = look.next;
      isAtEnd = look.isAtEnd;
    }
    if (
      epoch === this.seen.epoch &&
      (this.newest === undefined || compare(this.newest.upTo, upTo) < 0)
    )
      this.newest = { last, upTo };
    const { logId } = await this.session();
    return last && token(logId, last);
  }

  /** @throws {TypeError} for a position of another log. */
  compare(a: Position | undefined, b: Position | undefined): number {
    return compare(this.parsed(a), this.parsed(b));
  }

  /** By bytes: other users' events are included. */
  fraction(at: Position | undefined, end: Position | undefined): number {
    const all = this.parsed(end).commit;
    return all <= 0n ? 1 : Math.min(1, Math.max(0, Number(this.parsed(at).commit)) / Number(all));
  }

  /** @throws {TypeError} for a position of another log. */
  order(position: Position): bigint {
    return this.parsed(position).commit;
  }

  /**
   * Until the store was first reached the log's identity is unknown: the form of the position
   * decides.
   */
  isPosition(text: string): boolean {
    return this.parse(text) !== undefined;
  }

  async id(): Promise<string> {
    return (await this.session()).logId;
  }

  async check(): Promise<LogCheck> {
    const { version } = await this.session();
    return { store: `eventstoredb ${version}`, head: await this.head() };
  }

  /**
   * Answers the waiting appends (each within its time), ends all tails, then closes the
   * connections.
   */
  close(): Promise<void> {
    this.closing.abort();
    this.subscription.stop();
    this.closed ??= (async () => {
      await Promise.allSettled(this.pending);
      await this.sessions.close();
    })();
    return this.closed;
  }

  private async appendInTime(
    asked: Omit<PendingAppend, 'learn' | 'epoch'>,
  ): Promise<{ readonly result: WireAppendResult; readonly logId: string }> {
    const timeoutError = new EventLogUnavailable(`no answer within ${this.appendTimeoutMs} ms`);
    /** Why the store cannot be used, as far as a try has shown: more useful than "no answer". */
    let known: EventLogUnavailable | undefined;
    const learn = (reason: EventLogUnavailable): void => void (known = reason);
    const attempt = { ...asked, learn, epoch: this.seen.epoch };
    const work = this.slots(() => this.appendUntil(attempt));
    return within(Math.max(0, asked.deadline - performance.now()), work).catch((error: unknown) => {
      if (error instanceof NoAnswer) throw known ?? timeoutError;
      throw saysOnlyAway(error) ? (known ?? error) : error;
    });
  }

  /**
   * Retries the identical append whatever the outcome of the last try: the store recognises events
   * that it has.
   */
  private async appendUntil({
    stream,
    expected,
    events,
    bytes,
    deadline,
    learn,
    epoch,
  }: PendingAppend): Promise<{ readonly result: WireAppendResult; readonly logId: string }> {
    // A try without an answer leaves time for another one, on another connection.
    const tryMs = this.appendTimeoutMs / 2;
    for (let tries = 0, sent = 0; ; tries++) {
      const left = deadline - performance.now();
      if (left <= 0) throw new NoAnswer('the time of the append is over');
      let session: Session | undefined;
      try {
        session = await within(left, this.sessions.current());
        // The state that it was decided on may be lost with the end of the log. Once sent, it is
        // unknown whether it was stored and kept.
        if (epoch !== this.seen.epoch) {
          if (sent > 0) throw new OutcomeLost();
          return { result: { kind: 'conflict', actual: expected }, logId: session.logId };
        }
        sent += 1;
        const ms = Math.min(tryMs, left);
        return {
          result: await within(ms, session.wire.append(stream, expected, events, ms)),
          logId: session.logId,
        };
      } catch (error) {
        if (error instanceof OutcomeLost)
          throw new EventLogUnavailable('the event log lost its end');
        if (error instanceof ConnectionChanged) sent -= 1;
        if (exceptionOf(error) === 'maximum-append-size-exceeded') throw new AppendTooLarge(bytes);
        if (error instanceof EventLogUnavailable && !saysOnlyAway(error)) learn(error);
        await this.onFailedTry(error, session, tries, deadline);
      }
    }
  }

  /**
   * Waits for the next try. @throws the error for the append's caller, when there is no next try.
   */
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
    if (session !== undefined && isAway) await this.sessions.replace(session);
    const waitMs = backOffMs(tries, RETRY);
    // Closing answers the waiting appends; it does not wait for an unavailable store.
    if (!isAway || this.closing.signal.aborted || performance.now() + waitMs >= deadline)
      throw asPortError(error);
    observe?.retry?.(undefined);
    await pause(waitMs, this.closing.signal);
  }

  /** An event of this epoch no longer exists. */
  private lost(epoch: number): void {
    const { newest } = this.seen;
    if (newest !== undefined) this.seen.wentBack(newest, epoch);
  }

  private noteAppended(
    position: Position,
    { commit }: WirePosition,
    events: readonly NewEvent[],
    epoch: number,
  ): void {
    const { newest } = this.seen;
    // Mostly an answer that others overtook, or a repetition; a log that went back assigns
    // positions again.
    if (newest !== undefined && commit <= newest.ordinal)
      this.checkNewestSeen().catch(() => undefined);
    this.seen.note(commit, { position, eventId: events.at(-1)?.id ?? '' }, epoch);
  }

  /** On a new connection, before any other call over it. */
  private async compareSeen(wire: EventStoreDbWire, ms: number): Promise<void> {
    const { epoch, newest } = this.seen;
    const at = newest && this.parse(newest.position);
    if (newest === undefined || at === undefined) return;
    if (!(await holdsOn(wire, { position: at, eventId: newest.eventId }, ms)))
      this.seen.wentBack(newest, epoch);
  }

  /**
   * The next page of a tail. When no position was rung, other users' events are skipped, so that
   * they are not read again.
   */
  private async readTail(
    cursor: WirePosition,
    limit: number,
    rung: boolean,
  ): Promise<TailPage<WirePosition>> {
    const page = rung ? await this.readPage(cursor, limit) : await this.readOn(cursor, limit);
    // The subscription has to report the events that were read here.
    if (page.events.length > 0) this.subscription.expect(page.next.commit);
    return page;
  }

  private async findNewest(): Promise<{
    readonly last: WirePosition | undefined;
    readonly upTo: WirePosition;
  }> {
    const { events } = await this.read({
      of: { prefixes: this.ours, from: 'end' },
      backwards: true,
      count: 1,
    });
    const last = events[0]?.position;
    return { last, upTo: last ?? BEFORE_ALL };
  }

  private async readPage(after: WirePosition, limit: number): Promise<TailPage<WirePosition>> {
    const events = await this.eventsAfter(after, this.ours, limit);
    return {
      events: events.map((event) => this.recorded(event)),
      next: events.at(-1)?.position ?? after,
      isFull: events.length === limit,
    };
  }

  /**
   * A page that also shows how far it reached, other users' events included. The newest event of
   * the store is read first, and then all events of this log and of that event's stream: where that
   * event arrives, no event of this log was left out before it. A server that cancelled a call ends
   * the read as if it were complete, so the end of an answer by itself shows nothing.
   */
  private async readOn(after: WirePosition, limit: number): Promise<Look> {
    const [newest] = (
      await this.read({ of: { prefixes: null, from: 'end' }, backwards: true, count: 1 })
    ).events;
    // The store ends before the reader: it lost events that were read.
    if (newest !== undefined && compare(newest.position, after) < 0) await this.checkNewestSeen();
    if (newest !== undefined && compare(newest.position, after) <= 0)
      return { events: [], last: undefined, next: after, isFull: false, isAtEnd: true };
    const found =
      newest === undefined
        ? []
        : await this.eventsAfter(after, [...this.ours, newest.stream], limit);
    const next = found.at(-1)?.position ?? after;
    const own = found.filter(({ stream }) => stream.startsWith(`${this.namespace}${this.prefix}`));
    return {
      events: own.map((event) => this.recorded(event)),
      last: own.at(-1)?.position,
      next,
      isFull: found.length === limit,
      isAtEnd: newest !== undefined && compare(next, newest.position) >= 0,
    };
  }

  private async eventsAfter(
    after: WirePosition,
    prefixes: readonly string[],
    limit: number,
  ): Promise<readonly WireEvent[]> {
    // The read begins with the event at the position itself, when that event passes the filter.
    const { events } = await this.read({
      of: { prefixes, from: after === BEFORE_ALL ? 'start' : after },
      count: limit + 1,
    });
    return events.filter(({ position }) => compare(position, after) > 0).slice(0, limit);
  }

  private get ours(): readonly string[] {
    return [`${this.namespace}${this.prefix}`];
  }

  private async session(): Promise<Session> {
    try {
      return await within(this.readTimeoutMs, this.sessions.current());
    } catch (error) {
      throw asPortError(error);
    }
  }

  /** @throws {EventLogUnavailable} */
  private async read(query: WireRead): Promise<WirePage> {
    const session = await this.session();
    const { epoch } = this.seen;
    try {
      // A read that filters the whole store may be silent for long: it is waited for while the
      // store answers another call.
      const isAlive =
        'prefixes' in query.of && query.of.prefixes !== null
          ? () => this.isAlive(session)
          : undefined;
      const page = await within(
        isAlive ? SCAN_MS_MAX : this.readTimeoutMs * 2,
        session.wire.read(query, this.readTimeoutMs, isAlive),
      );
      this.noteRead(page.events, session.logId, epoch);
      return page;
    } catch (error) {
      if (failureOf(error).kind === 'away') await this.sessions.replace(session);
      throw asPortError(error);
    }
  }

  /** Of this log: other users' events may be scavenged by the store's operator. */
  private noteRead(events: readonly WireEvent[], logId: string, epoch: number): void {
    for (const { id, stream, position } of [events[0], events.at(-1)].filter(
      (event) => event !== undefined,
    ))
      if (stream.startsWith(`${this.namespace}${this.prefix}`))
        this.seen.note(position.commit, { position: token(logId, position), eventId: id }, epoch);
  }

  private async isAlive({ wire }: Session): Promise<void> {
    if (this.closing.signal.aborted) throw new EventLogUnavailable('the event log is closed');
    const ms = this.readTimeoutMs;
    await within(
      ms,
      wire.read({ of: { prefixes: null, from: 'end' }, backwards: true, count: 1 }, ms),
    );
  }

  private recorded({ createdAt, position, stream, ...event }: WireEvent): RecordedEvent {
    const logId = this.sessions.logId ?? '';
    return asFirstRecorded({
      ...event,
      stream: stream.slice(this.namespace.length),
      position: token(logId, position),
      recordedAt: createdAt,
    });
  }

  private parse(text: string): WirePosition | undefined {
    const [, log, commit = '', prepare = ''] =
      /^([0-9a-f]{8})-(0|[1-9]\d{0,19})-(0|[1-9]\d{0,19})$/.exec(text) ?? [];
    if (
      log === undefined ||
      (this.sessions.logId !== undefined && !this.sessions.logId.startsWith(log))
    )
      return undefined;
    const position = { commit: BigInt(commit), prepare: BigInt(prepare) };
    return position.commit > NUMBER_MAX || position.prepare > NUMBER_MAX ? undefined : position;
  }

  private parsed(position: Position | undefined): WirePosition {
    if (position === undefined) return BEFORE_ALL;
    const parsed = this.parse(position);
    if (parsed === undefined) throw new TypeError('not a position of this log');
    return parsed;
  }
}

/**
 * Whether the event is at that position. An empty answer shows nothing, for a server that cancelled
 * the call ends it so: it counts when the newest event of the store is before the position. A
 * server that does not know the position refuses the read while it answers other calls.
 * @throws {NoAnswer} when it cannot be determined.
 */
async function holdsOn(
  wire: EventStoreDbWire,
  { position, eventId }: { readonly position: WirePosition; readonly eventId: string },
  ms: number,
): Promise<boolean> {
  for (let tries = 0; tries < ENDS_UNNAMED_MAX; tries++) {
    let isRefused = false;
    const { events } = await wire
      .read({ of: { prefixes: null, from: position }, count: 1 }, ms)
      .catch((error: unknown) => {
        if (!mayBeNoPosition(error)) throw error;
        isRefused = true;
        return { events: [] };
      });
    const [found] = events;
    if (found !== undefined) return compare(found.position, position) === 0 && found.id === eventId;
    const [newest] = (
      await wire.read({ of: { prefixes: null, from: 'end' }, backwards: true, count: 1 }, ms)
    ).events;
    if (newest !== undefined && (isRefused || compare(newest.position, position) < 0)) return false;
  }
  throw new NoAnswer('EventStoreDB ends reads before their end');
}

const token = (logId: string, { commit, prepare }: WirePosition): Position =>
  `${logId.slice(0, 8)}-${commit}-${prepare}`;

function compare(a: WirePosition, b: WirePosition): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1;
  return a.prepare === b.prepare ? 0 : a.prepare < b.prepare ? -1 : 1;
}
