import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Need } from '../domain/need.js';
import type { Decision, Refusal } from '../domain/refusal.js';
import type { DomainEvent } from '../domain/events.js';
import type { SubjectId } from '../domain/personal.js';
import type { EventCodec, Decoded } from '../event-log/codec.js';
import { isRepeatable, type CommandMeta, type Envelope } from '../event-log/envelope.js';
import { AppendTooLarge, type EventLog, type ExpectedRevision, type Position, type RecordedEvent } from '../event-log/event-log.js';
import { deterministicId } from './deterministic-id.js';
import { OneAtATime, TooBusy } from './one-at-a-time.js';

/** The one loop between a command and the log: load, fold, decide, append. Nothing else knows about revisions. */

export interface Folding<S, E extends DomainEvent> {
  readonly initialState: S;
  readonly evolve: (state: S, event: E) => S;
  /** Whose plain values stand in a state; left out: nobody's. */
  readonly subjectsOf?: (state: S) => Iterable<SubjectId>;
}

/** A stream as of its newest event that this process has seen. */
export interface Folded<S> {
  readonly state: S;
  readonly revision: ExpectedRevision;
  /** Position of the newest event; null when the stream does not exist. */
  readonly position: Position | null;
  /** Commands that may come again, with the place of their last event, oldest first. One map per stream, shared by its successive states. */
  readonly handled: Map<string, Handled>;
}

interface Handled {
  readonly lastRevision: bigint;
  readonly recordedAt: number;
}

export type Outcome<S, E> =
  | {
      readonly kind: 'accepted';
      /** What this command brought about; empty when there was nothing left to do. */
      readonly events: readonly E[];
      /** The state right after it. */
      readonly state: S;
      readonly position: Position | null;
      /** The effect stood there already, from the same command before. */
      readonly replayed: boolean;
    }
  | { readonly kind: 'refused'; readonly refused: Refusal; readonly details: readonly string[]; readonly position: Position | null }
  | { readonly kind: 'held'; readonly heldBy: string }
  | { readonly kind: 'in-need'; readonly needs: readonly Need[] };

// Commands of this process queue per stream, so a conflict means another process. One that has a queue of its own for the stream goes on
// without reading anew and wins more often than not: of 64 commands beside such a queue, 16 tries turned some away. A try takes milliseconds.
const TRIES_MAX = 256;
const WAITING_PER_STREAM_MAX = 1_000;
const TOO_LARGE = 'all that would have to be recorded at once is too large';
const CACHED_STREAMS_MAX = 10_000;
/** What was folded from one event of an account takes up to 740 bytes (measured on users with codes): three quarters of a gigabyte at most. */
const CACHED_EVENTS_MAX = 1_000_000;
/** The longest streams are those of many small events, and read anew they cost most: none weighs so much that it could not stay. */
const STREAM_WEIGHT_MAX = 100_000;
const REMEMBERED_MS = 8 * 24 * 60 * 60 * 1000;

export class CommandHandling<S, E extends DomainEvent> {
  private readonly cache = new LRUCache<string, Folded<S>>({
    max: CACHED_STREAMS_MAX,
    maxSize: CACHED_EVENTS_MAX,
    sizeCalculation: ({ revision }) => Math.min(Number(toNumber(revision)) + 1, STREAM_WEIGHT_MAX),
  });
  private readonly queue = new OneAtATime(WAITING_PER_STREAM_MAX);
  /** How often somebody was forgotten: what was folded while that happened is not remembered. */
  private forgets = 0;

  constructor(
    private readonly log: EventLog,
    private readonly codec: EventCodec,
    private readonly folding: Folding<S, E>,
  ) {}

  /**
   * Decides on the stream and appends what was decided. `decide` may be called several times, each time with a newer state.
   * A decision on a remembered state is trusted only as far as the append proves it: a refusal is made again on the newest state.
   * @throws {TooBusy} {EventLogUnavailable}; after these the same command may be sent again.
   */
  handle(stream: string, meta: CommandMeta, decide: (state: S) => Decision<E> | Promise<Decision<E>>): Promise<Outcome<S, E>> {
    return this.queue.run(stream, async () => {
      const remembered = this.cache.get(stream);
      let folded = remembered ?? (await this.refresh(stream));
      let isNewest = remembered === undefined;
      for (let tries = 0; tries < TRIES_MAX;) {
        const before = folded.handled.get(meta.commandId);
        if (before) return this.replay(stream, before.lastRevision, meta.commandId);
        const decision = await decide(folded.state);
        const isEffect = 'events' in decision && decision.events.length > 0;
        if (!isEffect && !isNewest) {
          folded = await this.refresh(stream);
          isNewest = true;
          continue;
        }
        if ('refused' in decision)
          return { kind: 'refused', refused: decision.refused, details: decision.details ?? [], position: folded.position };
        if ('heldBy' in decision) return { kind: 'held', heldBy: decision.heldBy };
        if ('needs' in decision) return { kind: 'in-need', needs: decision.needs };
        if (!isEffect) return { kind: 'accepted', events: [], state: folded.state, position: folded.position, replayed: false };
        const appended = await this.append(stream, folded, meta, decision.events);
        if (appended === 'too-large')
          return { kind: 'refused', refused: 'RECORD_TOO_LARGE', details: [TOO_LARGE], position: folded.position };
        if (appended)
          return { kind: 'accepted', events: decision.events, state: appended.state, position: appended.position, replayed: false };
        tries++;
        folded = await this.refresh(stream);
        isNewest = true;
      }
      throw new TooBusy(`a stream stayed contended: ${TRIES_MAX} tries met a conflict`);
    });
  }

  /** The stream as of now, other processes' events included. */
  async load(stream: string): Promise<Folded<S>> {
    return this.refresh(stream);
  }

  /** Drops what is remembered of one stream. */
  forget(stream: string): void {
    this.cache.delete(stream);
  }

  /** Drops what is remembered of streams that show one of these subjects in plain; undefined: of all streams. */
  forgetSubjects(subjects?: ReadonlySet<SubjectId>): void {
    this.forgets++;
    const { subjectsOf } = this.folding;
    if (subjects === undefined) this.cache.clear();
    else if (subjectsOf) {
      for (const [stream, { state }] of [...this.cache.entries()])
        if ([...subjectsOf(state)].some((subject) => subjects.has(subject))) this.cache.delete(stream);
    }
  }

  /**
   * Undefined: somebody else was faster, or this very command was, an earlier time: its answer was lost, and the log keeps what was decided
   * then. That is why the ids are this decision's alone: the append of another decision is never taken for a repetition of this one.
   * `too-large`: more than one append holds, however often it is tried.
   */
  private async append(
    stream: string,
    folded: Folded<S>,
    { scope, ...meta }: CommandMeta,
    events: readonly E[],
  ): Promise<Folded<S> | 'too-large' | undefined> {
    const envelope: Envelope = { ...meta, tenant: scope.tenant, mode: scope.mode };
    const decision = `${stream}/${meta.commandId}/${randomUUID()}`;
    const ids = events.map((_, step) => deterministicId(decision, step));
    const before = this.forgets;
    const encoded = await this.codec.encode(events, envelope, ids);
    const appended = await this.log.append(stream, folded.revision, encoded).catch((error: unknown) => {
      if (error instanceof AppendTooLarge) return undefined;
      throw error;
    });
    if (appended === undefined) return 'too-large';
    if (appended.kind === 'conflict') return undefined;
    const { position, revision } = appended;
    const state = events.reduce((before, event) => this.folding.evolve(before, event), folded.state);
    const handled = isRepeatable(envelope)
      ? remember(folded.handled, meta.commandId, { lastRevision: revision, recordedAt: Date.now() })
      : folded.handled;
    return this.keep(stream, { state, revision, position, handled }, before);
  }

  private async refresh(stream: string): Promise<Folded<S>> {
    const before = this.forgets;
    let folded = this.cache.get(stream) ?? this.nothing();
    const from = folded.revision === 'no-stream' ? 0n : folded.revision + 1n;
    for await (const page of pages(this.log.readStream(stream, { from }))) folded = this.fold(folded, await this.codec.decodeAll(page));
    return this.keep(stream, folded, before);
  }

  private fold(folded: Folded<S>, decoded: readonly Decoded[]): Folded<S> {
    let { state, revision, position, handled } = folded;
    for (const { event, envelope, recorded } of decoded) {
      state = this.folding.evolve(state, event as E);
      revision = recorded.revision;
      position = recorded.position;
      if (isRepeatable(envelope)) {
        handled = remember(handled, envelope.commandId, { lastRevision: recorded.revision, recordedAt: recorded.recordedAt });
      }
    }
    return { state, revision, position, handled };
  }

  /** Tells again what a command did: its events, and the state as it was right after them. */
  private async replay(stream: string, lastRevision: bigint, commandId: string): Promise<Extract<Outcome<S, E>, { kind: 'accepted' }>> {
    let asOf = this.nothing();
    const events: E[] = [];
    for await (const page of pages(this.log.readStream(stream))) {
      const decoded = (await this.codec.decodeAll(page)).filter(({ recorded }) => recorded.revision <= lastRevision);
      asOf = this.fold(asOf, decoded);
      events.push(...decoded.filter(({ envelope }) => envelope.commandId === commandId).map(({ event }) => event as E));
      if (decoded.length < page.length) break;
    }
    return { kind: 'accepted', events, state: asOf.state, position: asOf.position, replayed: true };
  }

  /** A slower reader never puts an older state in place of a newer one. */
  private keep(stream: string, folded: Folded<S>, forgetsBefore: number): Folded<S> {
    if (this.forgets !== forgetsBefore) return folded;
    const present = this.cache.get(stream);
    if (present && toNumber(present.revision) > toNumber(folded.revision)) return folded;
    if (folded.revision !== 'no-stream') this.cache.set(stream, folded);
    return folded;
  }

  private nothing(): Folded<S> {
    return { state: this.folding.initialState, revision: 'no-stream', position: null, handled: new Map() };
  }
}

const toNumber = (revision: ExpectedRevision): bigint => (revision === 'no-stream' ? -1n : revision);

function remember(handled: Map<string, Handled>, commandId: string, entry: Handled): Map<string, Handled> {
  handled.set(commandId, entry);
  for (const [id, { recordedAt }] of handled) {
    if (recordedAt > entry.recordedAt - REMEMBERED_MS) break;
    handled.delete(id);
  }
  return handled;
}

const PAGE = 500;

/** Events in pages, so that a long stream is decoded page by page. */
async function* pages(events: AsyncIterable<RecordedEvent>): AsyncIterable<RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  for await (const event of events) {
    page.push(event);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
