import { randomUUID } from 'node:crypto';
import { withTimeout } from '../../foundation/timeout.js';
import { EventLogUnavailable, LogOlderThanBaseline } from '../event-log.js';
import type { EventStoreAddress } from '../../config/event-store-url.js';
import { asPortError, exceptionOf, NoAnswer, isOnlyUnavailable } from './eventstoredb-failures.js';
import { connectionProblem } from './eventstoredb-handshake.js';
import { EventStoreDbWire } from './eventstoredb-wire.js';

/** A client that has reached a store of this ledger. */
export interface Session {
  readonly wire: EventStoreDbWire;
  /** As the server returns it: `23.10.8.0`. */
  readonly version: string;
  readonly logId: string;
  /** Whether the server reports the last revision of a stream. */
  readonly namesEnds: boolean;
}

export interface SessionsOptions {
  readonly address: EventStoreAddress;
  /** Digest of the master key, stored by the first process that opens the store. */
  readonly owner: string;
  /** The stream whose metadata has the log's identity. */
  readonly identityStream: string;
  /** Limit of opening a session. */
  readonly openTimeoutMs: number;
  /** @throws {EventLogUnavailable} when the log of this identity must not be used. */
  readonly accept?: (logId: string) => Promise<void>;
  /** Called first with each connected client. @param ms its time limit. */
  readonly onConnected?: (wire: EventStoreDbWire, ms: number) => Promise<void>;
}

const OLDEST = [21, 10] as const;
/** Redirects to a named leader. */
const NAMED_LEADERS_MAX = 2;
/** For servers before 21.10, which do not report their version. */
const VERSION_UNKNOWN = 'unknown';

/**
 * Opens and keeps the one session with the store, and replaces it when its client may be stuck
 * (waits forever or repeats a failure).
 */
export class EventStoreDbSessions {
  private opening: Promise<Session> | undefined;
  private connected: Session | undefined;
  private known: string | undefined;
  private isClosed = false;
  private readonly open = new Set<EventStoreDbWire>();

  constructor(private readonly options: SessionsOptions) {}

  /** Known once a session has read it. */
  get logId(): string | undefined {
    return this.known;
  }

  /** @throws {EventLogUnavailable} with a message for operators. */
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

  /** The next call uses a new client; without effect when this one was already replaced. */
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
      const session = await withDeadline(openTimeoutMs, this.identifyAtLeader(wire));
      this.connected = session;
      return session;
    } catch (error) {
      const left = openTimeoutMs - (performance.now() - startedAt);
      const explained = await this.explainError(asPortError(error), left);
      this.opening = undefined;
      this.retire(wire);
      throw explained;
    }
  }

  /** Within the remaining time, so that a hanging node does not delay the caller. */
  private async explainError(error: unknown, withinMs: number): Promise<unknown> {
    if (!isOnlyUnavailable(error) || withinMs < 1) return error;
    const problem = await connectionProblem(this.options.address, withinMs);
    return problem === undefined ? error : new EventLogUnavailable(problem);
  }

  /**
   * A node that is not the leader redirects this client to the leader, so the same client tries
   * again. A new client might reach the same node.
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

  /** Of several processes with a new store one writes first; all use its identity. */
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

  /** The stream of the metadata, outside this log's prefixes: never read as events. */
  private get stream(): string {
    return `$$${this.options.identityStream}`;
  }

  /** Running calls have at most this long to end. */
  private retire(wire: EventStoreDbWire): void {
    setTimeout(() => void this.dispose(wire), this.options.openTimeoutMs).unref();
  }

  private async dispose(wire: EventStoreDbWire): Promise<void> {
    if (!this.open.delete(wire)) return;
    await withDeadline(this.options.openTimeoutMs, wire.close()).catch(() => undefined);
  }
}

interface Identity {
  readonly id: string;
  readonly owner: string;
  /** Undefined: a development build from before the first release. */
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
export function withDeadline<T>(ms: number, work: Promise<T>): Promise<T> {
  return withTimeout(work, ms, () => new NoAnswer(`no answer within ${ms} ms`));
}
