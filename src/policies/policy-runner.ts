import type { Pool } from 'pg';
import type { DomainEvent } from '../domain/events.js';
import type { EventLog, Position, RecordedEvent } from '../event-log/event-log.js';
import { backOffMs, pause } from '../pause.js';
import { PositionWaiters } from '../projecting/position-waiters.js';
import { ProjectionLease } from '../projecting/projection-lease.js';
import type { LedgerEvent, UndecodableEvent } from '../projecting/projector.js';
import { readPolicyCheckpoint, writePolicyCheckpoint } from './policy-checkpoint.js';
import type { Policy, Reaction } from './policy.js';

export interface PolicyRunnerOptions {
  /** One of its connections is kept while the runner runs: it holds the lock. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly decode: (recorded: readonly RecordedEvent[]) => Promise<readonly (LedgerEvent<DomainEvent> | UndecodableEvent)[]>;
  readonly policies: readonly Policy[];
  /** Carries out one reaction. Repeated after a failure, so it must be harmless twice. @throws when the reaction did not happen. */
  readonly carryOut: (event: LedgerEvent<DomainEvent>, policy: string, reaction: Reaction) => Promise<void>;
  readonly isUnavailable: (error: unknown) => boolean;
  readonly logger: { warn(fields: object, message: string): void };
  readonly leaseEveryMs?: number;
}

const CHECKPOINT = 'policies';
const PAGE = 500;
const AT_ONCE = 16;
/** A reaction that keeps failing for another reason than an outage is parked after so many tries; the rest goes on. */
const TRIES_MAX = 5;
const POLL_MS = 15;
/** A page without reactions is written down so much later, at the latest: other processes wait for its position, too. */
const IDLE_CHECKPOINT_MS = 50;

/**
 * Reacts to the log, in order, each event at least once: a page is finished before its checkpoint moves, and every reaction has an id
 * made from its cause. One process leads (advisory lock), the others stand by.
 */
export class PolicyRunner {
  private readonly waiters: PositionWaiters;
  private readonly lease: ProjectionLease;
  private readonly stopping = new AbortController();
  private endTurn: AbortController | undefined;
  private running: Promise<void> | undefined;
  private reached: Position | undefined;
  private leading = false;
  private polling = false;
  /** The checkpoint's writes, one after the other: an older position must not come to stand over a newer one. */
  private writing: Promise<void> = Promise.resolve();
  private idleWrite: NodeJS.Timeout | undefined;
  private problem: string | null = null;

  constructor(private readonly options: PolicyRunnerOptions) {
    this.waiters = new PositionWaiters(options.log);
    this.lease = new ProjectionLease(options.pool, [CHECKPOINT], { answerWithinMs: 5_000, onLost: () => this.endTurn?.abort() });
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the page in hand. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.endTurn?.abort();
    await this.running;
    this.lease.release();
  }

  get lastError(): string | null {
    return this.problem;
  }

  get role(): 'leader' | 'standby' {
    return this.leading ? 'leader' : 'standby';
  }

  /** True once everything that the events up to the position set off has been appended; false when the time is over. */
  async waitFor(position: Position, timeoutMs: number): Promise<boolean> {
    if (this.leading && this.options.log.compare(this.reached, position) >= 0) return true;
    const waiting = this.waiters.wait(position, [CHECKPOINT], timeoutMs);
    if (!this.leading) void this.pollWhileAwaited();
    return waiting;
  }

  /** How far reactions are; null: nothing yet. @throws when the database is away. */
  checkpoint(): Promise<Position | null> {
    return readPolicyCheckpoint(this.options.pool);
  }

  /** @throws when the database is away. */
  async parked(): Promise<number> {
    const { rows } = await this.options.pool.query<{ parked: bigint }>('select count(*) as parked from ledger.parked_reactions');
    return Number(rows[0]?.parked ?? 0n);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        const held = await this.lease.renew();
        if (held.size > 0) await this.lead();
        else await pause(this.options.leaseEveryMs ?? 1_000, signal);
        failures = 0;
        this.problem = null;
      } catch (error) {
        this.problem = describe(error);
        this.options.logger.warn({ error: this.problem }, 'policies are interrupted, trying again');
        await pause(backOffMs(failures++, { first: 50, max: 5_000 }), signal);
      }
    }
  }

  private async lead(): Promise<void> {
    const turn = new AbortController();
    this.endTurn = turn;
    if (this.stopping.signal.aborted) return;
    const alive = this.renewWhile(turn);
    try {
      this.reached = (await this.checkpoint()) ?? undefined;
      this.leading = true;
      if (this.reached !== undefined) this.waiters.advanced(CHECKPOINT, this.reached);
      for await (const page of this.options.log.follow(this.reached, { signal: turn.signal, pageSize: PAGE })) {
        await this.reactTo(page);
        if (turn.signal.aborted) break;
      }
    } finally {
      this.leading = false;
      await this.writeReached().catch(() => undefined);
      turn.abort();
      await alive;
    }
  }

  /** The lock shows that the connection lives; when it does not, the turn ends. */
  private async renewWhile(turn: AbortController): Promise<void> {
    while (!turn.signal.aborted) {
      await pause(this.options.leaseEveryMs ?? 1_000, turn.signal);
      if (!turn.signal.aborted) await this.lease.renew().catch(() => turn.abort());
    }
  }

  private async reactTo(page: readonly RecordedEvent[]): Promise<void> {
    const last = page.at(-1);
    if (!last) return;
    const known = new Set<string>(this.options.policies.flatMap(({ handles }) => [...handles]));
    // Types that no policy looks at need not be decoded; an unknown type may be one that a newer policy would look at.
    const relevant = page.filter(({ type }) => known.has(type));
    const decoded = relevant.length > 0 ? await this.options.decode(relevant) : [];
    const reactions = decoded.flatMap((event) => {
      if ('undecodable' in event) throw new Error(`an event cannot be decoded: ${event.undecodable}`);
      return this.options.policies.flatMap((policy) =>
        policy.handles.has(event.event.type) ? policy.react(event).map((reaction) => ({ event, policy: policy.name, reaction })) : [],
      );
    });
    for (let start = 0; start < reactions.length; start += AT_ONCE) {
      await Promise.all(
        reactions.slice(start, start + AT_ONCE).map(({ event, policy, reaction }) => this.carryOut(event, policy, reaction)),
      );
    }
    this.reached = last.position;
    // Who waits for it in another process mostly waits for a reaction: without any, one write serves all pages of a moment.
    if (relevant.length > 0) await this.writeReached();
    else this.writeSoon();
    this.waiters.advanced(CHECKPOINT, last.position);
  }

  private writeSoon(): void {
    this.idleWrite ??= setTimeout(() => {
      this.writeReached().catch(() => {
        if (this.leading) this.writeSoon();
      });
    }, IDLE_CHECKPOINT_MS);
  }

  private writeReached(): Promise<void> {
    clearTimeout(this.idleWrite);
    this.idleWrite = undefined;
    this.writing = this.writing
      .catch(() => undefined)
      .then(() => (this.reached === undefined ? undefined : writePolicyCheckpoint(this.options.pool, this.reached)));
    return this.writing;
  }

  private async carryOut(event: LedgerEvent<DomainEvent>, policy: string, reaction: Reaction): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.options.carryOut(event, policy, reaction);
      } catch (error) {
        if (this.stopping.signal.aborted) throw error;
        if (!this.options.isUnavailable(error) && tries >= TRIES_MAX) return this.park(event, policy, error);
        await pause(backOffMs(tries, { first: 20, max: 2_000 }), this.stopping.signal);
      }
    }
  }

  private async park(event: LedgerEvent<DomainEvent>, policy: string, error: unknown): Promise<void> {
    this.options.logger.warn(
      { policy, position: event.position, error: describe(error) },
      'a reaction failed again and again and is parked',
    );
    await this.options.pool.query(
      'insert into ledger.parked_reactions (event_id, policy, stream, position, reason) values ($1, $2, $3, $4, $5) on conflict do nothing',
      [event.eventId, policy, event.stream, event.position, describe(error)],
    );
  }

  private async pollWhileAwaited(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    try {
      while (!this.leading && this.waiters.awaited().length > 0 && !this.stopping.signal.aborted) {
        const position = await this.checkpoint().catch(() => null);
        if (position !== null) this.waiters.advanced(CHECKPOINT, position);
        await pause(POLL_MS, this.stopping.signal);
      }
    } finally {
      this.polling = false;
    }
  }
}

/** Name and code only: messages of the database may quote values. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return `${error.name}${code}`;
}
