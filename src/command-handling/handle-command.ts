import type { DomainEvent } from '../domain/events.js';
import type { SubjectId } from '../domain/personal.js';
import { modeOf, type Scope } from '../domain/scope.js';
import type { EventCodec } from '../event-log/codec.js';
import type { CommandMeta } from '../event-log/envelope.js';
import {
  AppendTooLarge,
  LogWentBack,
  type EventLog,
  type NewEvent,
} from '../event-log/event-log.js';
import { pages } from '../event-log/event-pages.js';
import { errorNameAndCode } from '../foundation/describe-error.js';
import { noteFailure, tracer } from '../foundation/tracing.js';
import { newId } from '../foundation/world.js';
import { deterministicId } from './deterministic-id.js';
import { emptyStream, fold, foldAppended, type Folding } from './fold-stream.js';
import type { EarlierCommand } from './handled-commands.js';
import { envelopeOf, outcomeWithoutEvents, type Decide, type Outcome } from './outcome.js';
import { replay } from './replay.js';
import { streamEndOf, CachedStreams, StreamCache, type Folded } from './stream-cache.js';
import { StreamQueues, TooBusy } from './stream-queues.js';

export interface StreamKind<S, E extends DomainEvent> extends Folding<S, E> {
  /** The people whose plain values the state contains. */
  readonly subjectsOf?: (state: S) => Iterable<SubjectId>;
}

export type DecidedLog = Pick<EventLog, 'append' | 'readStream' | 'epoch' | 'onWentBack'>;

export interface HandleOptions {
  /** Takes precedence over waiting commands: it releases a hold, or has waited for one. */
  readonly goesFirst?: boolean;
  /** Of the command, for its span, e.g. `RedeemCredit`. */
  readonly type?: string;
}

// Commands of one process queue per stream, so a conflict means another process. With 64 commands
// queued there, 16 tries were too few for some. A try takes milliseconds.
const TRIES_MAX = 256;
const TOO_LARGE = {
  kind: 'refused',
  refused: 'RECORD_TOO_LARGE',
  details: ['the events of this request exceed the size of one append'],
} as const;

/** The loop of every command. Only this class handles revisions. */
export class CommandHandling<S, E extends DomainEvent> {
  private readonly cache: StreamCache<S>;
  private readonly queues = new StreamQueues();

  constructor(
    private readonly log: DecidedLog,
    private readonly codec: EventCodec,
    private readonly folding: StreamKind<S, E>,
    remembered = new CachedStreams(),
  ) {
    this.cache = new StreamCache(remembered, folding.subjectsOf);
    // The cached states may contain events that the log has lost.
    log.onWentBack(() => this.cache.forgetSubjects());
  }

  /**
   * Decides on the stream and appends the events; a newer state repeats `decide`. The append proves
   * that an accepted decision used the newest state; a decision without events on a cached state is
   * repeated on the newest.
   * @throws {TooBusy} {EventLogUnavailable}: the same command may be sent again.
   */
  async handle(
    stream: string,
    meta: CommandMeta,
    decide: Decide<S, E>,
    { goesFirst = false, type = 'of a process' }: HandleOptions = {},
  ): Promise<Outcome<S, E>> {
    const span = commandSpan(type, meta.scope);
    const turn = await this.queues.turn(stream, goesFirst);
    try {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const { evictions } = this.cache;
        const cached = tries === 0 ? this.cache.get(stream) : undefined;
        const before = cached ?? (await this.load(stream));

        const earlier = before.handled.find(meta);
        if (earlier !== undefined) {
          const recorded = cached ? undefined : await this.recorded(stream, earlier, before);
          if (recorded) return recorded;
          continue;
        }

        const decision = await decide(before.state);
        if (!('events' in decision) || decision.events.length === 0) {
          if (cached) continue;
          return outcomeWithoutEvents(decision, before);
        }

        const { events } = decision;
        const encoded = await this.encode(stream, meta, events);
        span.setAttribute('ledger.events', encoded.length);
        const isOfLostLog = before.epoch !== this.log.epoch;
        if (isOfLostLog) continue;
        const end = streamEndOf(before);
        const appended = await this.log.append(stream, before.revision, encoded, end);
        if (appended.kind === 'conflict') continue;

        const after = foldAppended(this.folding, before, { meta, events, encoded, appended });
        this.cache.put(stream, after, evictions);
        const { state, position } = after;
        const eventIds = encoded.map(({ id }) => id);
        return { kind: 'accepted', events, eventIds, state, position, replayed: false };
      }
      throw new TooBusy(`a stream stayed contended: ${TRIES_MAX} tries met a conflict`);
    } catch (error) {
      if (error instanceof AppendTooLarge) return TOO_LARGE;
      turn.failed(error);
      noteFailure(span, errorNameAndCode(error));
      throw error;
    } finally {
      turn.end();
      span.end();
    }
  }

  /** A random part of event ids distinguishes decisions from repetitions. */
  private encode(
    stream: string,
    meta: CommandMeta,
    events: readonly E[],
  ): Promise<readonly NewEvent[]> {
    const decision = `${stream}/${meta.commandId}/${newId()}`;
    const eventIds = events.map((_, step) => deterministicId(decision, step));
    return this.codec.encode(events, envelopeOf(meta), eventIds);
  }

  forget(stream: string): void {
    this.cache.forget(stream);
  }

  /** Evicts the streams with plain values of these people; undefined: all streams. */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.cache.forgetSubjects(subjects);
  }

  /** The newest state, including events of other processes. */
  async load(stream: string): Promise<Folded<S>> {
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

  /** The outcome of an earlier attempt. Undefined: the log lost it, so it is decided again. */
  private async recorded(
    stream: string,
    earlier: NonNullable<EarlierCommand>,
    { position }: Folded<S>,
  ): Promise<Outcome<S, E> | undefined> {
    if (earlier === 'another-request')
      return { kind: 'refused', refused: 'IDEMPOTENCY_KEY_REUSED', details: [], position };
    const { log, codec, folding } = this;
    try {
      const { events, eventIds, asOf } = await replay({ log, codec, folding }, stream, earlier);
      if (events.length === 0) return undefined;
      const { state, position: last } = asOf;
      return { kind: 'accepted', events, eventIds, state, position: last, replayed: true };
    } catch (error) {
      if (error instanceof LogWentBack) return undefined;
      throw error;
    }
  }
}

const commandSpan = (type: string, { tenant, mode }: Scope) =>
  tracer().startSpan(`command ${type}`, {
    attributes: { 'ledger.command': type, 'ledger.tenant': tenant, 'ledger.mode': modeOf(mode) },
  });
