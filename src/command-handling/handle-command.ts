import type { DomainEvent } from '../domain/events.js';
import type { Need } from '../domain/need.js';
import type { SubjectId } from '../domain/personal.js';
import type { Decision } from '../domain/decision.js';
import type { Refusal } from '../domain/refusal.js';
import type { EventCodec } from '../event-log/codec.js';
import type { CommandMeta, Envelope } from '../event-log/envelope.js';
import {
  AppendTooLarge,
  EventLogUnavailable,
  LogWentBack,
  type EventLog,
  type Position,
} from '../event-log/event-log.js';
import { pages } from '../event-log/event-pages.js';
import { inSpan } from '../foundation/tracing.js';
import { elapsed, newId, timeNow } from '../foundation/world.js';
import { isUnavailable } from '../postgres/database.js';
import { deterministicId } from './deterministic-id.js';
import { fold, emptyStream, heapAfter, type Folding } from './fold-stream.js';
import type { HandledCommand } from './handled-commands.js';
import { OneAtATime, TooBusy } from './one-at-a-time.js';
import { replay } from './replay.js';
import { streamEndOf, RememberedStreams, StreamCache, type Folded } from './stream-cache.js';

/** The loop of every command: load, fold, decide, append. Only this file handles revisions. */

export interface StreamKind<S, E extends DomainEvent> extends Folding<S, E> {
  /** The people whose plain values the state contains; undefined: none. */
  readonly subjectsOf?: (state: S) => Iterable<SubjectId>;
}

export type Outcome<S, E> =
  | {
      readonly kind: 'accepted';
      /** Empty when the effect was already there. */
      readonly events: readonly E[];
      /** In the order of `events`. */
      readonly eventIds: readonly string[];
      /** Right after `events`. */
      readonly state: S;
      readonly position: Position | null;
      /** The events were recorded by an earlier attempt of the same command. */
      readonly replayed: boolean;
    }
  | {
      readonly kind: 'refused';
      readonly refused: Refusal;
      readonly details: readonly string[];
      readonly position: Position | null;
    }
  | { readonly kind: 'held'; readonly heldBy: string }
  | { readonly kind: 'in-need'; readonly needs: readonly Need[] };

/** What a decision is made on. */
interface Loaded<S> {
  readonly folded: Folded<S>;
  /** `StreamCache.evictions` before the load. */
  readonly evictions: number;
}

type Decide<S, E> = (state: S) => Decision<E> | Promise<Decision<E>>;

// Commands of this process queue per stream, so a conflict means another process. That process has
// its own queue and appends without reading first, so it often wins: with 64 commands queued there,
// 16 tries were too few for some. A try takes milliseconds.
const TRIES_MAX = 256;
const WAITING_PER_STREAM_MAX = 1_000;
/** A store that fails a command after this time fails those that waited for it, too. */
const SLOW_FAILURE_MS = 1_000;
const TOO_LARGE = 'the events of this request exceed the size of one append';

export class CommandHandling<S, E extends DomainEvent> {
  private readonly cache: StreamCache<S>;
  private readonly queue = new OneAtATime(WAITING_PER_STREAM_MAX);

  constructor(
    private readonly log: EventLog,
    private readonly codec: EventCodec,
    private readonly folding: StreamKind<S, E>,
    remembered = new RememberedStreams(),
  ) {
    this.cache = new StreamCache(remembered, folding.subjectsOf);
    // The cached states may rest on events that the log has lost.
    log.onWentBack(() => this.cache.forgetSubjects());
  }

  /**
   * Decides on the stream and appends the events. `decide` may be called several times, each time
   * with a newer state. The append proves that an accepted decision rests on the newest state; a
   * refusal on a cached state is decided again on the newest.
   * @param goesFirst before the commands that wait for their first turn: it releases a hold that
   * they would meet, or has waited for one.
   * @throws {TooBusy} {EventLogUnavailable}: the same command may be sent again.
   */
  async handle(
    stream: string,
    meta: CommandMeta,
    decide: Decide<S, E>,
    goesFirst = false,
  ): Promise<Outcome<S, E>> {
    const endTurn = await this.queue.enter(stream, goesFirst);
    const beganAt = elapsed();
    let failure: Error | undefined;
    try {
      return await this.handleInTurn(stream, meta, decide);
    } catch (error) {
      if (elapsed() - beganAt >= SLOW_FAILURE_MS) failure = failureOfAll(error);
      throw error;
    } finally {
      endTurn(failure);
    }
  }

  private async handleInTurn(
    stream: string,
    meta: CommandMeta,
    decide: Decide<S, E>,
  ): Promise<Outcome<S, E>> {
    // Before the load: a person in this state may be forgotten before it is cached again.
    let { evictions } = this.cache;
    const remembered = this.cache.get(stream);
    let folded = remembered ?? (await this.refresh(stream));
    let isNewest = remembered === undefined;
    for (let tries = 0; tries < TRIES_MAX;) {
      const before = folded.handled.find(meta);
      if (before) {
        const again = isNewest ? await this.replayOf(stream, before, folded) : undefined;
        if (again) return again;
        tries++;
      } else {
        const decision = await decide(folded.state);
        const isEffect = 'events' in decision && decision.events.length > 0;
        if (isEffect) {
          const loaded = { folded, evictions };
          const appended = await this.append(stream, loaded, meta, decision.events);
          if (appended) return appended;
          tries++;
        } else if (isNewest) return withoutEffect(decision, folded);
      }
      ({ evictions } = this.cache);
      folded = await this.refresh(stream);
      isNewest = true;
    }
    throw new TooBusy(`a stream stayed contended: ${TRIES_MAX} tries met a conflict`);
  }

  /** The newest state, including events of other processes. */
  async load(stream: string): Promise<Folded<S>> {
    return this.refresh(stream);
  }

  /** Evicts one stream from the cache. */
  forget(stream: string): void {
    this.cache.forget(stream);
  }

  /** Evicts the streams that contain plain values of these people; undefined: all streams. */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.cache.forgetSubjects(subjects);
  }

  /**
   * The recorded outcome of an earlier attempt. Undefined when the log has just lost it: the
   * command is then decided again.
   */
  private async replayOf(
    stream: string,
    before: HandledCommand | 'another-request',
    { position }: Folded<S>,
  ): Promise<Outcome<S, E> | undefined> {
    if (before === 'another-request')
      return { kind: 'refused', refused: 'IDEMPOTENCY_KEY_REUSED', details: [], position };
    const again = await this.replayed(stream, before);
    return again !== undefined && again.events.length > 0 ? again : undefined;
  }

  /**
   * Undefined: another command appended first, or an earlier attempt of this command did and its
   * answer was lost; then the log keeps the earlier decision. Event ids contain a random part, so
   * that the log never takes another decision's append for a repetition of this one.
   */
  private async append(
    stream: string,
    { folded, evictions }: Loaded<S>,
    { scope, ...meta }: CommandMeta,
    events: readonly E[],
  ): Promise<Outcome<S, E> | undefined> {
    const envelope: Envelope = { ...meta, tenant: scope.tenant, mode: scope.mode };
    const decision = `${stream}/${meta.commandId}/${newId()}`;
    const eventIds = events.map((_, step) => deterministicId(decision, step));
    const { epoch } = folded;
    const encoded = await this.codec.encode(events, envelope, eventIds);
    // What was looked up for the decision may be lost. A new stream has no end that says so.
    if (this.log.epoch !== epoch) return undefined;
    const appended = await inSpan('append', { 'ledger.events': events.length }, () =>
      this.log.append(stream, folded.revision, encoded, streamEndOf(folded)),
    ).catch((error: unknown) => {
      if (error instanceof AppendTooLarge) return undefined;
      throw error;
    });
    if (appended === undefined) return tooLarge(folded);
    if (appended.kind === 'conflict') return undefined;
    const { position, revision } = appended;
    const state = events.reduce(
      (before, event) => this.folding.evolve(before, event),
      folded.state,
    );
    folded.handled.record(envelope, { lastRevision: revision, recordedAt: timeNow() });
    const after = {
      state,
      revision,
      position,
      eventId: eventIds.at(-1) ?? null,
      epoch,
      handled: folded.handled,
      bytes: heapAfter(this.folding, folded, state, encoded),
    };
    this.cache.put(stream, after, evictions);
    return { kind: 'accepted', events, eventIds, state, position, replayed: false };
  }

  /** Reads on from the cached state, unless the log has lost events below it. */
  private async refresh(stream: string): Promise<Folded<S>> {
    for (;;) {
      try {
        return await this.read(stream, this.cache.get(stream));
      } catch (error) {
        if (!(error instanceof LogWentBack)) throw error;
        this.cache.forget(stream);
      }
    }
  }

  /** @throws {LogWentBack} */
  private async read(stream: string, remembered: Folded<S> | undefined): Promise<Folded<S>> {
    const before = this.cache.evictions;
    const { epoch } = this.log;
    let folded = remembered ?? { ...emptyStream(this.folding), epoch };
    const from = folded.revision === 'no-stream' ? 0n : folded.revision + 1n;
    for await (const page of pages(this.log.readStream(stream, { from, end: streamEndOf(folded) })))
      folded = fold(this.folding, folded, await this.codec.decodeAll(page));
    // A state read partly before and partly after a loss belongs to neither log.
    if (this.log.epoch !== folded.epoch) throw new LogWentBack();
    return this.cache.put(stream, folded, before);
  }

  /** Undefined: the log lost its end during the read. */
  private async replayed(
    stream: string,
    command: HandledCommand,
  ): Promise<Extract<Outcome<S, E>, { kind: 'accepted' }> | undefined> {
    const { log, codec, folding } = this;
    try {
      const { events, eventIds, asOf } = await replay<S, E>(
        { log, codec, folding },
        stream,
        command,
      );
      return {
        kind: 'accepted',
        events,
        eventIds,
        state: asOf.state,
        position: asOf.position,
        replayed: true,
      };
    } catch (error) {
      if (error instanceof LogWentBack) return undefined;
      throw error;
    }
  }
}

/**
 * Of the commands that waited behind this one: each would wait as long for the same store, one
 * after the other. Undefined: the store did not fail.
 */
const failureOfAll = (error: unknown): Error | undefined =>
  error instanceof EventLogUnavailable || isUnavailable(error)
    ? new EventLogUnavailable('a command before this one failed at a store', { cause: error })
    : undefined;

/** A refusal on every try: the events exceed the limit of one append. */
const tooLarge = <S, E>({ position }: Folded<S>): Outcome<S, E> => ({
  kind: 'refused',
  refused: 'RECORD_TOO_LARGE',
  details: [TOO_LARGE],
  position,
});

function withoutEffect<S, E>(decision: Decision<E>, { state, position }: Folded<S>): Outcome<S, E> {
  if ('refused' in decision) {
    return {
      kind: 'refused',
      refused: decision.refused,
      details: decision.details ?? [],
      position,
    };
  }
  if ('heldBy' in decision) return { kind: 'held', heldBy: decision.heldBy };
  if ('needs' in decision) return { kind: 'in-need', needs: decision.needs };
  return { kind: 'accepted', events: [], eventIds: [], state, position, replayed: false };
}
