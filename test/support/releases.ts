import { encodedEvents } from './encoded-events.js';
import { ErrorLines } from './error-lines.js';
import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DomainEvent } from '../../src/domain/events.js';
import { EventCodec } from '../../src/event-log/codec.js';
import type { EventLog, Position, RecordedEvent } from '../../src/event-log/event-log.js';
import type { Policy } from '../../src/reacting/policy.js';
import { beginCheckpoint } from '../../src/following/checkpoints.js';
import { POLICIES_HANDLER } from '../../src/reacting/policy-checkpoint.js';
import { FollowedPolicies, type FollowedPoliciesOptions } from './followed.js';
import { postgresPolicyStores } from '../../src/reacting/policy-stores.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';
import { decodeAny } from '../../src/projecting/decode-events.js';
import { InMemorySubjectKeys } from './in-memory-subject-keys.js';

const SCOPE = { tenant: 'demo', mode: 'live' } as const;
const NAMES = new KeyedNames(Buffer.alloc(32, 1));

/** An event type of both releases, one of the newer release only, and one without reactions. */
export const OLD_FACT = 'UserBlocked';
export const NEW_FACT = 'UserUnblocked';
export const OTHER_FACT = 'ReferralEnded';
export type TestFact = typeof OLD_FACT | typeof NEW_FACT | typeof OTHER_FACT;

let made = 0;

/** Of the newest ledger of this file. */
export const streamOf = (account: string): string =>
  NAMES.accountStream(SCOPE, NAMES.accountRef(SCOPE, `${made} ${account}`));

/** Accounts in a log, from a position on, and what releases of the service react to in it. */
export class TestReleases {
  private readonly codec = new EventCodec(new InMemorySubjectKeys());
  private readonly revisions = new Map<string, bigint>();
  /** Every reaction that was carried out, in order: policy, account's stream and event. */
  readonly logger = new ErrorLines();
  readonly done: {
    readonly policy: string;
    readonly stream: string;
    readonly eventId: string;
    readonly revision: bigint;
  }[] = [];
  /** Says why a reaction fails; undefined: it does not. */
  failure: (
    event: { readonly stream: string; readonly revision: bigint },
    policy: string,
  ) => unknown = () => undefined;
  private readonly running = new Set<FollowedPolicies>();

  private constructor(
    readonly pool: Pool,
    readonly log: EventLog,
    private readonly beginning: Position | undefined,
  ) {}

  /** No reaction is parked, and everything so far has been reacted to. */
  static async on(pool: Pool, log: EventLog): Promise<TestReleases> {
    made += 1;
    await pool.query('truncate ledger.parked_reactions, ledger.handler_checkpoints');
    const head = await log.head();
    await beginCheckpoint(pool, POLICIES_HANDLER, head ?? null);
    return new TestReleases(pool, log, head);
  }

  async happened(account: string, ...facts: readonly TestFact[]): Promise<Position> {
    const stream = streamOf(account);
    const events = facts.map((type) => factOf(type));
    const encoded = await encodedEvents(this.codec, SCOPE, events);
    const revision = this.revisions.get(stream) ?? 'no-stream';
    const appended = await this.log.append(stream, revision, encoded);
    if (appended.kind === 'conflict') throw new Error('the test appends alone');
    this.revisions.set(stream, appended.revision);
    return appended.position;
  }

  /** The release of today. */
  newer(options: Partial<FollowedPoliciesOptions> = {}): FollowedPolicies {
    return this.runner(
      [
        reacts('to-old-facts', OLD_FACT),
        reacts('to-new-facts', NEW_FACT),
        reacts('to-both', OLD_FACT, NEW_FACT),
      ],
      options,
    );
  }

  /** The one before: it knows no `NEW_FACT`. */
  older(options: Partial<FollowedPoliciesOptions> = {}): FollowedPolicies {
    const whyUnknown = ({ type }: Pick<RecordedEvent, 'type'>) =>
      type === NEW_FACT ? `events of type ${type} are unknown` : undefined;
    const isKnown = (type: string): boolean => type !== NEW_FACT;
    return this.runner([reacts('to-old-facts', OLD_FACT), reacts('to-both', OLD_FACT)], {
      unreadableReason: whyUnknown,
      isKnown,
      ...options,
    });
  }

  /** What the release of today does alone, by account: each reaction once, in order. */
  async expected(): Promise<Map<string, string[]>> {
    const all = new Map<string, string[]>();
    for (const { type, stream, id } of await this.log.readAll(this.beginning, 100_000)) {
      const policies =
        { [OLD_FACT]: ['to-old-facts', 'to-both'], [NEW_FACT]: ['to-new-facts', 'to-both'] }[
          type
        ] ?? [];
      if (policies.length > 0)
        all.set(stream, [
          ...(all.get(stream) ?? []),
          ...policies.map((policy) => `${policy} ${id}`),
        ]);
    }
    return all;
  }

  /** What was done, by account, each reaction where it was done first. */
  reactions(): Map<string, string[]> {
    const all = new Map<string, string[]>();
    for (const { policy, stream, eventId } of this.done) {
      const known = all.get(stream) ?? [];
      const reaction = `${policy} ${eventId}`;
      if (!known.includes(reaction)) all.set(stream, [...known, reaction]);
    }
    return all;
  }

  /** The same for each policy by itself: the order that holds when single reactions fail. */
  static perPolicy(reactions: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
    const all = new Map<string, string[]>();
    for (const [stream, done] of reactions) {
      for (const reaction of done) {
        const key = `${stream} ${reaction.split(' ')[0]}`;
        all.set(key, [...(all.get(key) ?? []), reaction]);
      }
    }
    return all;
  }

  async stop(runner: FollowedPolicies): Promise<void> {
    this.running.delete(runner);
    await runner.stop();
  }

  async stopAll(): Promise<void> {
    for (const runner of [...this.running]) await this.stop(runner);
  }

  private runner(
    policies: readonly Policy[],
    options: Partial<FollowedPoliciesOptions>,
  ): FollowedPolicies {
    const runner = new FollowedPolicies(this.pool, {
      stores: postgresPolicyStores(this.pool),
      log: this.log,
      decode: decodeAny(this.codec),
      policies,
      isUnavailable: () => false,
      logger: this.logger,
      carryOut: (event, policy) => {
        const failure = this.failure(event, policy);
        if (failure instanceof Error) return Promise.reject(failure);
        this.done.push({
          policy,
          stream: event.stream,
          eventId: event.eventId,
          revision: event.revision,
        });
        return Promise.resolve();
      },
      ...options,
    });
    this.running.add(runner);
    runner.start();
    return runner;
  }
}

function reacts(name: string, ...types: readonly DomainEvent['type'][]): Policy {
  const job = { kind: 'job', task: 'settle-reward', payload: {}, runAt: 0, key: 'k' } as const;
  return { name, handles: new Set(types), react: () => [job] };
}

function factOf(type: TestFact): DomainEvent {
  return type === OTHER_FACT
    ? { type, at: 1, referralId: 'r' }
    : { type, at: 1, person: randomUUID() };
}
