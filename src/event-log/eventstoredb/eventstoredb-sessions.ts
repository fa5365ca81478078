import { randomUUID } from 'node:crypto';
import { inTime } from '../../foundation/in-time.js';
import { EventLogUnavailable, LogOlderThanBaseline } from '../event-log.js';
import type { EventStoreAddress } from '../../config/event-store-url.js';
import { asPortError, exceptionOf, NoAnswer, saysOnlyAway } from './eventstoredb-failures.js';
import { connectionProblem } from './eventstoredb-handshake.js';
import { EventStoreDbWire } from './eventstoredb-wire.js';

/** A client that has reached a store of this ledger. */
export interface Session {
  readonly wire: EventStoreDbWire;
  /** Of the server, as it returns it: `23.10.8.0`. */
  readonly version: string;
  readonly logId: string;
  /** Whether it reports where a stream ends. */
  readonly namesEnds: boolean;
}

export interface SessionsOptions {
  readonly address: EventStoreAddress;
  /**
   * The owner of the log: a digest that only the same master key produces. Stored by the first
   * process that opens the store.
   */
  readonly owner: string;
  /** The stream whose metadata contain the log's identity. */
  readonly identityStream: string;
  /** Limit of opening a session. */
  readonly openTimeoutMs: number;
  /**
   * Whether the log of this identity may be used. @throws {EventLogUnavailable} when it must not.
   */
  readonly accept?: (logId: string) => Promise<void>;
  /**
   * Called with each client that reached the log, before any other call over its connection.
   * @param ms its time limit.
   */
  readonly onConnected?: (wire: EventStoreDbWire, ms: number) => Promise<void>;
}

const OLDEST = [21, 10] as const;
/** Limit of redirects from one node to the node that it names as leader. */
const NAMED_LEADERS_MAX = 2;
/** Replaces the version of a server that does not know the question, which exists since 21.10. */
const VERSION_UNKNOWN = 'unknown';

/**
 * One client at a time, replaced when it may be stuck: after a call without an answer or a failed
 * discovery a client can wait without end, or repeat its failure from memory, while a new one
 * works. Calls under way on the old client run to their end.
 */
export class EventStoreDbSessions {
  private opening: Promise<Session> | undefined;
  private connected: Session | undefined;
  private known: string | undefined;
  private isClosed = false;
  private readonly open = new Set<EventStoreDbWire>();

  constructor(private readonly options: SessionsOptions) {}

  /** The identity of the log, once a session has read it. */
  get logId(): string | undefined {
    return this.known;
  }

  /** @throws {EventLogUnavailable} whose message says what is wrong. */
  current(): Promise<Session> {
    if (this.isClosed) return Promise.reject(new EventLogUnavailable('the event log is closed'));
    const { connected } = this;
    if (connected?.wire.isConnectionGone) {
      this.connected = undefined;
      this.opening = undefined;
      this.retire(connected.wire);
    }
    this.opening ??= this.connect();
    return this.opening;
  }

  /** The next call uses a new client; no effect when this one was already replaced. */
  async replace(session: Session): Promise<void> {
    const current = this.opening;
    if (
      current === undefined ||
      (await current.catch(() => undefined)) !== session ||
      this.opening !== current
    )
      return;
    this.opening = undefined;
    this.connected = undefined;
    this.retire(session.wire);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.open].map((wire) => this.dispose(wire)));
  }

  private async connect(): Promise<Session> {
    const wire = new EventStoreDbWire(this.options.address);
    this.open.add(wire);
    const { openTimeoutMs } = this.options;
    const startedAt = performance.now();
    try {
      const session = await within(openTimeoutMs, this.identifyAtLeader(wire));
      this.connected = session;
      return session;
    } catch (error) {
      const left = openTimeoutMs - (performance.now() - startedAt);
      const explained = await this.explained(asPortError(error), left);
      this.opening = undefined;
      this.retire(wire);
      throw explained;
    }
  }

  /** In the rest of the time, so that the caller of a node that hangs does not wait for longer. */
  private async explained(error: unknown, withinMs: number): Promise<unknown> {
    if (!saysOnlyAway(error) || withinMs < 1) return error;
    const problem = await connectionProblem(this.options.address, withinMs);
    return problem === undefined ? error : new EventLogUnavailable(problem);
  }

  /**
   * A follower names the leader, and the same client goes there with its next call: a new client
   * would ask the follower again.
   */
  private async identifyAtLeader(wire: EventStoreDbWire): Promise<Session> {
    for (let left = NAMED_LEADERS_MAX; ; left--) {
      try {
        return await this.identify(wire);
      } catch (error) {
        if (left === 0 || exceptionOf(error) !== 'not-leader') throw error;
      }
    }
  }

  private async identify(wire: EventStoreDbWire): Promise<Session> {
    const version = await wire.serverVersion();
    if (isTooOld(version)) {
      const given = version === VERSION_UNKNOWN ? 'older than 21.10' : `of version ${version}`;
      throw new EventLogUnavailable(`EventStoreDB is ${given}: 21.10 or newer is needed`);
    }
    const { id, owner, baseline, namesEnds } =
      (await this.identity(wire)) ?? (await this.createIdentity(wire));
    if (owner !== this.options.owner) {
      throw new EventLogUnavailable(
        'EventStoreDB holds the log of another ledger, made with another master key: set its key file, or another store',
      );
    }
    if (baseline !== BASELINE) throw new LogOlderThanBaseline();
    if (this.known !== undefined && this.known !== id) {
      throw new EventLogUnavailable(
        'EVENT_STORE_URL leads to another log than before: restart the service if that is meant',
      );
    }
    await this.options.accept?.(id);
    this.known = id;
    await wire.keepToConnection();
    await this.options.onConnected?.(wire, this.options.openTimeoutMs);
    return { wire, version, logId: id, namesEnds };
  }

  private async identity(
    wire: EventStoreDbWire,
  ): Promise<(Identity & { readonly namesEnds: boolean }) | undefined> {
    const { events, isEndNamed } = await wire.read(
      { of: { stream: this.stream, from: 'end' }, backwards: true, count: 1 },
      this.options.openTimeoutMs,
    );
    const [newest] = events;
    if (newest === undefined) return undefined;
    const identity = parseIdentity(newest.data);
    if (identity === undefined) {
      throw new EventLogUnavailable(
        `the metadata of ${this.options.identityStream} in EventStoreDB are not of this service: use a store without it`,
      );
    }
    return { ...identity, namesEnds: isEndNamed };
  }

  /**
   * Of several processes that find a new store at the same time one writes first; all use what it
   * wrote.
   */
  private async createIdentity(
    wire: EventStoreDbWire,
  ): Promise<Identity & { readonly namesEnds: boolean }> {
    const data = JSON.stringify({
      ledger: {
        id: randomUUID(),
        owner: this.options.owner,
        baseline: BASELINE,
      } satisfies Identity,
    });
    await wire.append(
      this.stream,
      'no-stream',
      [{ id: randomUUID(), type: '$metadata', data, metadata: '' }],
      this.options.openTimeoutMs,
    );
    const identity = await this.identity(wire);
    if (identity === undefined) throw new NoAnswer('the identity that was just written is missing');
    return identity;
  }

  /**
   * The metadata of a stream are in a stream of their own, which no prefix of this log matches:
   * they are never read as events.
   */
  private get stream(): string {
    return `$$${this.options.identityStream}`;
  }

  /** Its calls have at most this long to end by themselves. */
  private retire(wire: EventStoreDbWire): void {
    setTimeout(() => void this.dispose(wire), this.options.openTimeoutMs).unref();
  }

  private async dispose(wire: EventStoreDbWire): Promise<void> {
    if (!this.open.delete(wire)) return;
    await within(this.options.openTimeoutMs, wire.close()).catch(() => undefined);
  }
}

interface Identity {
  readonly id: string;
  readonly owner: string;
  /** Undefined: of a development build from before the first release. */
  readonly baseline: number | undefined;
}

const BASELINE = 1;

function parseIdentity(data: string): Identity | undefined {
  try {
    const { ledger } = JSON.parse(data) as { ledger?: Partial<Identity> };
    return typeof ledger?.id === 'string' &&
      /^[0-9a-f-]{36}$/.test(ledger.id) &&
      typeof ledger.owner === 'string'
      ? { id: ledger.id, owner: ledger.owner, baseline: ledger.baseline }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A version that is not numeric counts as new. */
function isTooOld(version: string): boolean {
  if (version === VERSION_UNKNOWN) return true;
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
}

/** @throws {NoAnswer} after that time; a later answer is dropped. */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return inTime(work, ms, () => new NoAnswer(`no answer within ${ms} ms`));
}
