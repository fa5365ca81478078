import { randomUUID } from 'node:crypto';
import { inTime } from '../../foundation/in-time.js';
import { EventLogUnavailable } from '../event-log.js';
import type { EventStoreAddress } from '../event-store-url.js';
import { asPortError, exceptionOf, NoAnswer } from './eventstoredb-failures.js';
import { EventStoreDbWire } from './eventstoredb-wire.js';

/** A client that has shown that it reaches a store of ours. */
export interface Session {
  readonly wire: EventStoreDbWire;
  /** Of the server, as it gives it: `23.10.8.0`. */
  readonly version: string;
  readonly logId: string;
  /** Whether it says where a stream ends. */
  readonly namesEnds: boolean;
}

export interface SessionsOptions {
  readonly address: EventStoreAddress;
  /**
   * Whose log this is: a digest that only the same master key gives. Kept in the store by whoever
   * opens it first.
   */
  readonly owner: string;
  /** The stream whose metadata say who the log is. */
  readonly identityStream: string;
  /** Opening is given up after this time. */
  readonly openTimeoutMs: number;
  /**
   * Whether the log of this identity is to be used, whoever owns it. @throws {EventLogUnavailable}
   * when it is not.
   */
  readonly accept?: (logId: string) => Promise<void>;
  /**
   * Called with each client that reached the log, before anything else goes over its connection.
   * @param ms how long it may take.
   */
  readonly introduced?: (wire: EventStoreDbWire, ms: number) => Promise<void>;
}

const OLDEST = [21, 10] as const;
/** So many nodes are asked one after the other, each because the one before said that it leads. */
const NAMED_LEADERS_MAX = 2;
/**
 * What stands in place of a version when the server does not know the question, which came with
 * 21.10.
 */
const UNSAID = 'unknown';

/**
 * One client at a time, made anew when it may be stuck: after a call without an answer or a
 * discovery that failed the client of a process can wait for ever, or repeat its failure from
 * memory, while a fresh one works. Calls under way on the old one go on to their own end.
 */
export class EventStoreDbSessions {
  private opening: Promise<Session> | undefined;
  private standing: Session | undefined;
  private known: string | undefined;
  private isClosed = false;
  private readonly open = new Set<EventStoreDbWire>();

  constructor(private readonly options: SessionsOptions) {}

  /** The identity of the log, once a session has learned it. */
  get logId(): string | undefined {
    return this.known;
  }

  /** @throws {EventLogUnavailable} whose message says what is wrong. */
  current(): Promise<Session> {
    if (this.isClosed) return Promise.reject(new EventLogUnavailable('the event log is closed'));
    const { standing } = this;
    if (standing?.wire.isConnectionGone) {
      this.standing = undefined;
      this.opening = undefined;
      this.retire(standing.wire);
    }
    this.opening ??= this.connect();
    return this.opening;
  }

  /** The next call gets a new client; nothing happens when this one was replaced already. */
  async replace(session: Session): Promise<void> {
    const current = this.opening;
    if (
      current === undefined ||
      (await current.catch(() => undefined)) !== session ||
      this.opening !== current
    )
      return;
    this.opening = undefined;
    this.standing = undefined;
    this.retire(session.wire);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.open].map((wire) => this.letGo(wire)));
  }

  private async connect(): Promise<Session> {
    const wire = new EventStoreDbWire(this.options.address);
    this.open.add(wire);
    try {
      const session = await within(this.options.openTimeoutMs, this.introduceAtLeader(wire));
      this.standing = session;
      return session;
    } catch (error) {
      this.opening = undefined;
      this.retire(wire);
      throw asPortError(error);
    }
  }

  /**
   * A follower names the leader, and the client that was told so goes there with its next call: a
   * new client would ask the follower again.
   */
  private async introduceAtLeader(wire: EventStoreDbWire): Promise<Session> {
    for (let left = NAMED_LEADERS_MAX; ; left--) {
      try {
        return await this.introduce(wire);
      } catch (error) {
        if (left === 0 || exceptionOf(error) !== 'not-leader') throw error;
      }
    }
  }

  private async introduce(wire: EventStoreDbWire): Promise<Session> {
    const version = await wire.serverVersion();
    if (isTooOld(version)) {
      const given = version === UNSAID ? 'older than 21.10' : `of version ${version}`;
      throw new EventLogUnavailable(`EventStoreDB is ${given}: 21.10 or newer is needed`);
    }
    const { id, owner, namesEnds } = (await this.identity(wire)) ?? (await this.introduceLog(wire));
    if (owner !== this.options.owner) {
      throw new EventLogUnavailable(
        'EventStoreDB holds the log of another ledger, made with another master key: set its key file, or another store',
      );
    }
    if (this.known !== undefined && this.known !== id) {
      throw new EventLogUnavailable(
        'another log stands at EVENT_STORE_URL than the one before: restart the service if that is meant',
      );
    }
    await this.options.accept?.(id);
    this.known = id;
    await wire.keepToConnection();
    await this.options.introduced?.(wire, this.options.openTimeoutMs);
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

  /** Of several who find a new store at the same time one is first; all take what it wrote. */
  private async introduceLog(
    wire: EventStoreDbWire,
  ): Promise<Identity & { readonly namesEnds: boolean }> {
    const data = JSON.stringify({
      ledger: { id: randomUUID(), owner: this.options.owner } satisfies Identity,
    });
    await wire.append(
      this.stream,
      'no-stream',
      [{ id: randomUUID(), type: '$metadata', data, metadata: '' }],
      this.options.openTimeoutMs,
    );
    const identity = await this.identity(wire);
    if (identity === undefined) throw new NoAnswer('what was just written is not there yet');
    return identity;
  }

  /**
   * Metadata of a stream live in a stream of their own, which no prefix of ours matches: they are
   * never read as events of the log.
   */
  private get stream(): string {
    return `$$${this.options.identityStream}`;
  }

  /** Its calls have at most this long to come to an end by themselves. */
  private retire(wire: EventStoreDbWire): void {
    setTimeout(() => void this.letGo(wire), this.options.openTimeoutMs).unref();
  }

  private async letGo(wire: EventStoreDbWire): Promise<void> {
    if (!this.open.delete(wire)) return;
    await within(this.options.openTimeoutMs, wire.close()).catch(() => undefined);
  }
}

interface Identity {
  readonly id: string;
  readonly owner: string;
}

function parseIdentity(data: string): Identity | undefined {
  try {
    const { ledger } = JSON.parse(data) as { ledger?: Partial<Identity> };
    return typeof ledger?.id === 'string' &&
      /^[0-9a-f-]{36}$/.test(ledger.id) &&
      typeof ledger.owner === 'string'
      ? { id: ledger.id, owner: ledger.owner }
      : undefined;
  } catch {
    return undefined;
  }
}

/** A version that is given, but not as numbers, is taken for a new one. */
function isTooOld(version: string): boolean {
  if (version === UNSAID) return true;
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  return Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
}

/** @throws {NoAnswer} after that time; what comes later is dropped. */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return inTime(work, ms, () => new NoAnswer(`no answer within ${ms} ms`));
}
