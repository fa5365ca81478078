import { LEDGER_MODE } from '../domain/scope.js';
import { storedBytes } from '../event-log/event-pages.js';
import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { Bulkhead } from '../foundation/bulkhead.js';
import type { Page, PageEvent } from '../projecting/page.js';
import { TurnEnded, type EventReactions } from './event-reactions.js';
import { selectEvents, type PolicyEvent, type ReadingOptions } from './reading-events.js';

export interface ReactionFlowParts {
  readonly reading: Pick<ReadingOptions, 'policies' | 'unreadableReason'>;
  readonly reactions: Pick<EventReactions, 'keepParked' | 'reactTo'>;
  /** The first position is before the other one. */
  readonly isBehind: (position: Position, other: Position | undefined) => boolean;
  /** All up to this position are done. @param hasReactions since the last call. */
  readonly onDone: (position: Position, hasReactions: boolean) => void;
  /**
   * Called after `ReactionFlow.reachedIn` may have moved, with the ledger concerned; undefined: all
   * ledgers.
   */
  readonly onMovedIn: (ledger: string | undefined) => void;
  /** Called when it has failed. */
  readonly onFailed: (error: unknown) => void;
  /** Ends the flow. */
  readonly signal: AbortSignal;
  readonly limits?: FlowLimits;
}

/** No further page is taken while this many events, or bytes, wait for their reactions. */
export interface FlowLimits {
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** Streams that are processed in parallel; each in its own order. */
const STREAM_LIMITS = { atWorkMax: 16, waitingMax: Infinity };
const LIMITS: FlowLimits = { eventsMax: 5_000, bytesMax: 8 * 1024 * 1024 };

const SCOPED_STREAM = new RegExp(`^[a-z]+-[a-z]+-(${LEDGER_MODE})\\.([^.]+)\\.`);

/** The tenant and mode of a stream, as `mode/tenant`; of another stream its name. */
export function ledgerOf(stream: string): string {
  const [, mode, tenant] = SCOPED_STREAM.exec(stream) ?? [];
  return mode === undefined || tenant === undefined ? stream : `${mode}/${tenant}`;
}

/** Events up to this one, some of which have unfinished reactions. */
interface OpenPage {
  last: Position;
  pending: number;
  readonly hasReactions: boolean;
}

interface Waiting {
  readonly met: PolicyEvent;
  readonly page: OpenPage;
  readonly bytes: number;
  /** The position before it, of whatever event. */
  readonly before: Position | undefined;
  isDone: boolean;
}

/** Each stream proceeds in its order, across pages; ledgers take turns. */
export class ReactionFlow {
  private readonly bulkhead = new Bulkhead(STREAM_LIMITS);
  private readonly ending = new AbortController();
  private readonly lanes = new Map<string, Waiting[]>();
  private readonly running = new Set<Promise<void>>();
  /** By ledger, in log order, from the first unfinished one. */
  private readonly ledgers = new Map<string, Waiting[]>();
  /** In order. */
  private readonly open: OpenPage[] = [];
  private events = 0;
  private bytes = 0;
  private failure: { readonly error: unknown } | undefined;
  private room: () => void = () => undefined;
  private readonly end = (): void => {
    this.ending.abort();
    this.room();
  };

  /** @param taken the position after which it begins; undefined: with the first event. */
  constructor(
    private taken: Position | undefined,
    private readonly parts: ReactionFlowParts,
  ) {
    if (parts.signal.aborted) this.end();
    parts.signal.addEventListener('abort', this.end);
  }

  /** Aborts when it ends, or has failed. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** The last event that was taken; undefined: none. */
  get position(): Position | undefined {
    return this.taken;
  }

  /** Takes the events after its position. Resolves when there is room. @throws its failure. */
  async take(page: Page): Promise<void> {
    const start = page.events.findIndex(({ recorded }) =>
      this.parts.isBehind(recorded.position, this.taken),
    );
    if (start < 0) return;
    const events = page.events.slice(start);
    const met = selectEvents(events, this.parts.reading);
    await this.parts.reactions.keepParked(new Set(met.map(({ recorded }) => recorded.stream)));
    this.enter(events, met, page.last);
    this.taken = page.last;
    this.settle();
    this.parts.onMovedIn(undefined);
    while (this.isFull && !this.signal.aborted)
      await new Promise<void>((resolve) => (this.room = resolve));
    if (this.failure) throw this.failure.error;
  }

  /** Position up to which this ledger's reactions are done; undefined: unknown. */
  reachedIn(ledger: string): Position | undefined {
    const [first] = this.ledgers.get(ledger) ?? [];
    return first === undefined ? this.taken : first.before;
  }

  /** Resolves when no reaction runs any more. */
  async close(): Promise<void> {
    this.parts.signal.removeEventListener('abort', this.end);
    this.end();
    await Promise.all(this.running);
  }

  /** Ends it with an error. */
  fail(error: unknown): void {
    if (this.failure) return;
    this.failure = { error };
    this.end();
    this.parts.onFailed(error);
  }

  private get isFull(): boolean {
    const { eventsMax, bytesMax } = this.parts.limits ?? LIMITS;
    return this.events >= eventsMax || this.bytes >= bytesMax;
  }

  private enter(events: readonly PageEvent[], met: readonly PolicyEvent[], last: Position): void {
    const newest = this.open.at(-1);
    if (met.length === 0 && newest?.pending === 0) {
      newest.last = last;
      return;
    }
    const page = { last, pending: met.length, hasReactions: met.length > 0 };
    this.open.push(page);
    const before = new Map<RecordedEvent, Position | undefined>(
      events.map(({ recorded }, index) => [
        recorded,
        events[index - 1]?.recorded.position ?? this.taken,
      ]),
    );
    for (const one of met)
      this.queue({
        met: one,
        page,
        bytes: storedBytes(one.recorded),
        before: before.get(one.recorded),
        isDone: false,
      });
  }

  private queue(waiting: Waiting): void {
    const { stream } = waiting.met.recorded;
    const ledger = ledgerOf(stream);
    this.events += 1;
    this.bytes += waiting.bytes;
    addTo(this.ledgers, ledger, waiting);
    if (!addTo(this.lanes, stream, waiting)) return;
    const run = this.inOrder(stream, ledger)
      .catch((error: unknown) => {
        if (!(error instanceof TurnEnded)) this.fail(error);
      })
      .finally(() => this.running.delete(run));
    this.running.add(run);
  }

  private async inOrder(stream: string, ledger: string): Promise<void> {
    const lane = this.lanes.get(stream) ?? [];
    for (let next = lane[0]; next !== undefined; next = lane[0]) {
      const place = await this.bulkhead.enter(ledger);
      try {
        if (this.signal.aborted) return;
        await this.parts.reactions.reactTo(next.met, this.signal);
      } finally {
        place?.leave();
      }
      lane.shift();
      if (lane.length === 0) this.lanes.delete(stream);
      this.done(next, ledger);
    }
  }

  private done(waiting: Waiting, ledger: string): void {
    waiting.isDone = true;
    waiting.page.pending -= 1;
    this.events -= 1;
    this.bytes -= waiting.bytes;
    const all = this.ledgers.get(ledger) ?? [];
    while (all[0]?.isDone) all.shift();
    if (all.length === 0) this.ledgers.delete(ledger);
    this.settle();
    this.parts.onMovedIn(ledger);
    if (!this.isFull) this.room();
  }

  /** Reports completed pages in order: a later page waits for those before it. */
  private settle(): void {
    let last: Position | undefined;
    let hasReactions = false;
    while (this.open[0]?.pending === 0) {
      ({ last } = this.open[0]);
      hasReactions ||= this.open[0].hasReactions;
      this.open.shift();
    }
    if (last !== undefined) this.parts.onDone(last, hasReactions);
  }
}

/** @returns whether it is the first one of its list. */
function addTo(lists: Map<string, Waiting[]>, name: string, waiting: Waiting): boolean {
  const list = lists.get(name) ?? [];
  lists.set(name, list);
  return list.push(waiting) === 1;
}
