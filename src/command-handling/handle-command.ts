import type { DomainEvent } from '../domain/events.js';
import type { SubjectId } from '../domain/personal.js';
import type { EventCodec } from '../event-log/codec.js';
import type { CommandMeta } from '../event-log/envelope.js';
import { InvalidAppend } from '../event-log/append-checks.js';
import {
  APPEND_BYTES_MAX,
  appendBytes,
  AppendTooLarge,
  EventLogUnavailable,
  LogWentBack,
  type AppendResult,
  type EventLog,
  type NewEvent,
  type Position,
} from '../event-log/event-log.js';
import { pages } from '../event-log/event-pages.js';
import { inSpan } from '../foundation/tracing.js';
import { elapsed, newId, timeNow } from '../foundation/world.js';
import { isUnavailable } from '../postgres/database.js';
import { deterministicId } from './deterministic-id.js';
import { emptyStream, fold, heapAfter, type Folding } from './fold-stream.js';
import type { HandledCommand } from './handled-commands.js';
import { replay } from './replay.js';
import type { Decide, Outcome } from './outcome.js';
import { Asked, envelopeOf, needsLookUps, outcomeOf, Round } from './round.js';
import { streamEndOf, RememberedStreams, StreamCache, type Folded } from './stream-cache.js';
import { TooBusy, WaitingLines } from './waiting-lines.js';

/** The loop of every command: load, fold, decide, append. Only this file handles revisions. */

export interface StreamKind<S, E extends DomainEvent> extends Folding<S, E> {
  /** The people whose plain values the state contains; undefined: none. */
  readonly subjectsOf?: (state: S) => Iterable<SubjectId>;
}

export interface HandleOptions {
  /**
   * Before the commands that wait for their first turn: it releases a hold that they would meet, or
   * has waited for one.
   */
  readonly goesFirst?: boolean;
  /**
   * Its events may be recorded in one append with those of the commands beside it. `decide` is then
   * called with `mayLookUp` false first, and returns the lookups that it needs; they are made when
   * the command is alone.
   */
  readonly together?: boolean;
}

// Commands of this process queue per stream, so a conflict means another process. That process has
// its own queue and appends without reading first, so it often wins: with 64 commands queued there,
// 16 tries were too few for some. A try takes milliseconds.
const TRIES_MAX = 256;
const WAITING_PER_STREAM_MAX = 1_000;
/** A store that fails a command after this time fails those that waited for it, too. */
const SLOW_FAILURE_MS = 1_000;
/** Deciding so many takes some milliseconds of the thread. */
const TOGETHER_MAX = 64;
const TOO_LARGE = 'the events of this request exceed the size of one append';

export class CommandHandling<S, E extends DomainEvent> {
  private readonly cache: StreamCache<S>;
  private readonly lines: WaitingLines<Asked<S, E>>;

  constructor(
    private readonly log: EventLog,
    private readonly codec: EventCodec,
    private readonly folding: StreamKind<S, E>,
    remembered = new RememberedStreams(),
  ) {
    this.cache = new StreamCache(remembered, folding.subjectsOf);
    this.lines = new WaitingLines({
      waitingMax: WAITING_PER_STREAM_MAX,
      together: (waiting) => this.togetherOf(waiting),
      serve: (stream, asked) => this.serve(stream, asked),
    });
    // The cached states may rest on events that the log has lost.
    log.onWentBack(() => this.cache.forgetSubjects());
  }

  /**
   * Decides on the stream and appends the events. `decide` may be called several times, each time
   * with a newer state. The append proves that an accepted decision rests on the newest state; a
   * refusal on a cached state is decided again on the newest, unless a later command of the same
   * append proves it.
   * @throws {TooBusy} {EventLogUnavailable}: the same command may be sent again.
   */
  handle(
    stream: string,
    meta: CommandMeta,
    decide: Decide<S, E>,
    { goesFirst = false, together = false }: HandleOptions = {},
  ): Promise<Outcome<S, E>> {
    return new Promise((resolve, reject) => {
      const asked = new Asked(meta, decide, together, { resolve, reject });
      this.lines.enter(stream, asked, goesFirst);
    });
  }

  /** A store whose positions within an append are unknown takes one command at a time. */
  private togetherOf(waiting: readonly Asked<S, E>[]): number {
    if (waiting[0]?.together !== true || this.log.positionBefore === undefined) return 1;
    const end = waiting.findIndex(({ together }, index) => !together || index === TOGETHER_MAX);
    return end < 0 ? waiting.length : end;
  }

  /** @returns those without an answer: they wait for another turn. */
  private async serve(
    stream: string,
    asked: readonly Asked<S, E>[],
  ): Promise<readonly Asked<S, E>[]> {
    const beganAt = elapsed();
    try {
      await this.handleInTurn(stream, asked);
    } catch (error) {
      for (const each of asked) each.fail(error);
    }
    const left = asked.filter(({ isAnswered }) => !isAnswered);
    const failed = asked.find(({ failure }) => isOfStore(failure));
    if (failed === undefined || elapsed() - beganAt < SLOW_FAILURE_MS) return left;
    // Each would wait as long for the same store, one after the other.
    const failure = new EventLogUnavailable('a command before this one failed at a store', {
      cause: failed.failure,
    });
    for (const each of [...left, ...this.lines.leave(stream)]) each.fail(failure);
    return [];
  }

  /** Until one of them has its answer, at least. */
  private async handleInTurn(stream: string, asked: readonly Asked<S, E>[]): Promise<void> {
    // Before the load: a person in this state may be forgotten before it is cached again.
    let { evictions } = this.cache;
    const remembered = this.cache.get(stream);
    let folded = remembered ?? (await this.refresh(stream));
    let isNewest = remembered === undefined;
    let count = asked.length;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const round = new Round<S, E>({ folded, evictions, isNewest });
      if (!(await this.repeated(stream, asked, round))) {
        await this.decideInOrder(stream, asked.slice(0, count), round);
        // Fewer are decided, and recorded, sooner.
        if (!(await this.record(stream, round))) count = Math.ceil(count / 2);
      }
      if (asked.some(({ isAnswered }) => isAnswered)) return;
      ({ evictions } = this.cache);
      folded = await this.refresh(stream);
      isNewest = true;
    }
    throw new TooBusy(`a stream stayed contended: ${TRIES_MAX} tries met a conflict`);
  }

  /** Whether the first one was carried out before; on the newest state it gets its answer. */
  private async repeated(
    stream: string,
    [first]: readonly Asked<S, E>[],
    { begin: { folded, isNewest } }: Round<S, E>,
  ): Promise<boolean> {
    const before = first && folded.handled.find(first.meta);
    if (before === undefined) return false;
    const again = isNewest ? await this.replayOf(stream, before, folded) : undefined;
    if (again) first?.answer(again);
    return true;
  }

  /** Each on the state behind those before it, up to the first one that has to wait for them. */
  private async decideInOrder(
    stream: string,
    asked: readonly Asked<S, E>[],
    round: Round<S, E>,
  ): Promise<void> {
    const { folded, evictions } = round.begin;
    for (const [index, each] of asked.entries()) {
      const isOver = this.cache.evictions !== evictions || this.log.epoch !== folded.epoch;
      if (index > 0 && (isOver || round.repeats(each.meta))) return;
      try {
        if (!(await this.decideNext(stream, each, round))) return;
      } catch (error) {
        each.fail(error);
      }
    }
  }

  /** False: it is the last one of this round, or has to wait for the next one. */
  private async decideNext(
    stream: string,
    asked: Asked<S, E>,
    round: Round<S, E>,
  ): Promise<boolean> {
    const { state } = round;
    let decision = await asked.decide(state, !asked.together);
    const isAlone = needsLookUps(decision);
    if (isAlone) {
      if (round.steps.length > 0) return false;
      decision = await asked.decide(state, true);
    }
    if (!('events' in decision) || decision.events.length === 0)
      round.add({ asked, decision, encoded: [], state });
    else {
      const encoded = await this.encode(stream, asked.meta, decision.events);
      const isTooLarge = round.bytes + appendBytes(encoded) > APPEND_BYTES_MAX;
      if (round.steps.length > 0 && isTooLarge) return false;
      const after = decision.events.reduce(
        (before, event) => this.folding.evolve(before, event),
        state,
      );
      round.add({ asked, decision, encoded, state: after });
    }
    return !isAlone;
  }

  /**
   * Event ids contain a random part, so that the log never takes another decision's append for a
   * repetition of this one.
   */
  private encode(
    stream: string,
    meta: CommandMeta,
    events: readonly E[],
  ): Promise<readonly NewEvent[]> {
    const decision = `${stream}/${meta.commandId}/${newId()}`;
    const eventIds = events.map((_, step) => deterministicId(decision, step));
    return this.codec.encode(events, envelopeOf(meta), eventIds);
  }

  /**
   * Appends what was decided, and answers. False after a conflict: another command appended first,
   * or an earlier attempt of one of these did and its answer was lost; then the log keeps the
   * earlier decision.
   */
  private async record(stream: string, round: Round<S, E>): Promise<boolean> {
    const { folded, isNewest, evictions } = round.begin;
    const { encoded } = round;
    if (isNewest) round.answerUnchanged();
    if (encoded.length === 0) return true;
    // What was looked up for the decision may be lost. A new stream has no end that says so.
    if (this.log.epoch !== folded.epoch) return false;
    const appended = await this.append(stream, round);
    if (appended === 'failed') return true;
    if (appended === 'invalid' || appended.kind === 'conflict') return false;
    const { position, revision } = appended;
    let left = encoded.length;
    let reached = folded.position;
    const answers = round.steps.map((step) => {
      const { asked, encoded: events } = step;
      if (events.length > 0) {
        left -= events.length;
        const lastRevision = revision - BigInt(left);
        folded.handled.record(envelopeOf(asked.meta), { lastRevision, recordedAt: timeNow() });
        reached = this.positionBefore(position, left);
      }
      return { asked, outcome: outcomeOf(step, reached) };
    });
    const after = {
      state: round.state,
      revision,
      position,
      eventId: encoded.at(-1)?.id ?? null,
      epoch: folded.epoch,
      handled: folded.handled,
      bytes: heapAfter(this.folding, folded, round.state, encoded),
    };
    this.cache.put(stream, after, evictions);
    for (const { asked, outcome } of answers) asked.answer(outcome);
    return true;
  }

  /**
   * `failed`: the commands with events have their answer. `invalid`: one of several commands cannot
   * be recorded, and nothing was sent.
   */
  private async append(
    stream: string,
    { begin: { folded }, encoded, steps }: Round<S, E>,
  ): Promise<AppendResult | 'failed' | 'invalid'> {
    const changing = steps.filter((step) => step.encoded.length > 0);
    let sent: Promise<AppendResult> | undefined;
    const send = (): Promise<AppendResult> =>
      (sent ??= this.log.append(stream, folded.revision, encoded, streamEndOf(folded)));
    try {
      await Promise.all(
        changing.map(({ asked, encoded: { length } }) =>
          asked.inContext(() => inSpan('append', { 'ledger.events': length }, send)),
        ),
      );
      return await send();
    } catch (error) {
      if (error instanceof InvalidAppend && changing.length > 1) return 'invalid';
      for (const { asked } of changing)
        if (error instanceof AppendTooLarge) asked.answer(tooLarge(folded));
        else asked.fail(error);
      return 'failed';
    }
  }

  /** Of the event that is so many before another one in the same append. */
  private positionBefore(position: Position, events: number): Position {
    return events === 0 ? position : (this.log.positionBefore?.(position, events) ?? position);
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
    const start = remembered ?? { ...emptyStream(this.folding), epoch: this.log.epoch };
    const folded = await this.readOn(stream, start);
    // A state read partly before and partly after a loss belongs to neither log.
    if (this.log.epoch !== folded.epoch) throw new LogWentBack();
    return this.cache.put(stream, folded, before);
  }

  private async readOn(stream: string, remembered: Folded<S>): Promise<Folded<S>> {
    let folded = remembered;
    const from = folded.revision === 'no-stream' ? 0n : folded.revision + 1n;
    for await (const page of pages(this.log.readStream(stream, { from, end: streamEndOf(folded) })))
      folded = fold(this.folding, folded, await this.codec.decodeAll(page));
    return folded;
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

const isOfStore = (failure: unknown): boolean =>
  failure instanceof EventLogUnavailable || isUnavailable(failure);

/** A refusal on every try: the events exceed the limit of one append. */
const tooLarge = <S, E>({ position }: Folded<S>): Outcome<S, E> => ({
  kind: 'refused',
  refused: 'RECORD_TOO_LARGE',
  details: [TOO_LARGE],
  position,
});
