import { EventLogUnavailable } from '../event-log.js';
import type { NewestSeen } from '../newest-seen.js';
import { asPortError, failureOf } from './eventstoredb-failures.js';
import { tokenOf } from './eventstoredb-positions.js';
import { withDeadline, type EventStoreDbSessions, type Session } from './eventstoredb-sessions.js';
import type { WireEvent, WirePage, WireRead } from './eventstoredb-wire.js';

/** A filtered read of a busy shared store may search long before it finds an event. */
const SCAN_MS_MAX = 600_000;

/** A server that names ends, yet returns this many empty reads without one, is shutting down. */
export const ENDS_UNNAMED_MAX = 10;

export interface ReadsOptions {
  readonly sessions: EventStoreDbSessions;
  readonly seen: NewestSeen;
  /** Called with the times of events of this log. */
  readonly noteTime: (ordinal: bigint, recordedAt: number) => void;
  /** The prefix of this log's streams in the store. */
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly closing: AbortSignal;
}

/** Reads on the current session within a time limit, and records the newest event seen. */
export class EventStoreDbReads {
  constructor(private readonly options: ReadsOptions) {}

  get timeoutMs(): number {
    return this.options.timeoutMs;
  }

  /** Undefined until the store was first reached. */
  get logId(): string | undefined {
    return this.options.sessions.logId;
  }

  /** @throws {EventLogUnavailable} */
  async session(): Promise<Session> {
    try {
      return await withDeadline(this.options.timeoutMs, this.options.sessions.current());
    } catch (error) {
      throw asPortError(error);
    }
  }

  /** @throws {EventLogUnavailable} */
  async read(query: WireRead): Promise<WirePage> {
    const session = await this.session();
    const { epoch } = this.options.seen;
    try {
      // A read that filters the whole store may be silent for long: it may run while the store
      // answers another call.
      const isAlive =
        'prefixes' in query.of && query.of.prefixes !== null
          ? () => this.isAlive(session)
          : undefined;
      const page = await withDeadline(
        isAlive ? SCAN_MS_MAX : this.options.timeoutMs * 2,
        session.wire.read(query, this.options.timeoutMs, isAlive),
      );
      this.noteRead(page.events, session.logId, epoch);
      return page;
    } catch (error) {
      if (failureOf(error).kind === 'away') await this.options.sessions.replace(session);
      throw asPortError(error);
    }
  }

  /** Of this log only: the store's operator may scavenge other users' events. */
  private noteRead(events: readonly WireEvent[], logId: string, epoch: number): void {
    for (const { id, stream, position, createdAt } of [events[0], events.at(-1)].filter(
      (event) => event !== undefined,
    )) {
      if (!stream.startsWith(this.options.prefix)) continue;
      this.options.seen.note(
        position.commit,
        { position: tokenOf(logId, position), eventId: id },
        epoch,
      );
      if (epoch === this.options.seen.epoch) this.options.noteTime(position.commit, createdAt);
    }
  }

  private async isAlive({ wire }: Session): Promise<void> {
    if (this.options.closing.aborted) throw new EventLogUnavailable('the event log is closed');
    const ms = this.options.timeoutMs;
    await withDeadline(
      ms,
      wire.read({ of: { prefixes: null, from: 'end' }, backwards: true, count: 1 }, ms),
    );
  }
}
