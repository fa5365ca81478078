import type { EventLog, Position, RecordedEvent } from '../../event-log/event-log.js';
import {
  describeError,
  parksItsStream,
  StoppedAtUndecodable,
  unreadableBecause,
} from '../projecting-errors.js';
import {
  forgottenBy,
  type DecodeEvents,
  type LedgerEvent,
  type Projector,
  type UndecodableEvent,
} from '../projector.js';
import { FoldedRows, type RowObserver } from './folded-rows.js';
import type { ParkedEvent } from './generation-store.js';

/** A projection's fold in memory. Parks events by the rules of the live track. */
export class ProjectionFold {
  readonly rows: FoldedRows;
  readonly parked: ParkedEvent[] = [];
  private readonly parkedStreams = new Set<string>();
  /** The last event that is in the rows or did not affect them; undefined: none. */
  position: Position | undefined;

  /** @param until its last event. @param skipped positions of events that it leaves out. */
  constructor(
    readonly projector: Projector,
    public until: Position | undefined,
    observe?: RowObserver,
    private readonly skipped: ReadonlySet<Position> = new Set(),
  ) {
    this.rows = new FoldedRows(projector.tables, observe);
  }

  apply(event: LedgerEvent): void {
    if (!this.projector.handles.has(event.event.type)) return;
    if (this.parkedStreams.has(event.stream) || this.skipped.has(event.position)) {
      // An erasure does not wait until the stream is repaired.
      if (forgottenBy(event)) this.rows.attempt(this.projector, event);
      return;
    }
    const failure = this.rows.attempt(this.projector, event);
    if (failure) this.park(event, describeError(failure.failed));
  }

  /** @throws {StoppedAtUndecodable} when the stream cannot be parked alone. */
  applyUndecodable(type: string, event: UndecodableEvent): void {
    if (this.skipped.has(event.position)) return;
    if (!parksItsStream(type, this.parkedStreams.size))
      throw new StoppedAtUndecodable(event.position, event.undecodable);
    if (!this.parkedStreams.has(event.stream)) this.park(event, unreadableBecause(event));
  }

  private park(
    { stream, revision, position }: Pick<LedgerEvent, 'stream' | 'revision' | 'position'>,
    reason: string,
  ): void {
    this.parked.push({ stream, revision, position, reason });
    this.parkedStreams.add(stream);
  }
}

export interface FoldOptions {
  readonly log: Pick<EventLog, 'readAll' | 'compare'>;
  readonly decode: DecodeEvents;
  readonly folds: readonly ProjectionFold[];
  /** Every type that some projection handles, see `ProjectionTrack`. */
  readonly knownTypes: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** Events that need not be decoded; default: all are decoded. */
  readonly wants?: (event: RecordedEvent) => boolean;
  /** Called before each event that one of them takes. */
  readonly onEvent?: (event: LedgerEvent) => void;
  /** Called after each page with the number of events read since the last call. */
  readonly onPage?: (events: number, last: Position) => void;
}

const PAGE = 2_000;

/**
 * Folds the log into all of these together, each from its position to its own end. Reads ahead
 * while it folds. Ends early when aborted: `position` is the progress of each fold.
 * @throws {StoppedAtUndecodable} at an event that one of them must read and that can neither be
 * decoded nor parked with its stream.
 * @throws the log's errors while it is unavailable.
 */
export async function foldLog(options: FoldOptions): Promise<void> {
  const { log, folds, signal } = options;
  const unfinished = (): ProjectionFold[] =>
    folds.filter(({ position, until }) => log.compare(position, until) < 0);
  const [first, ...others] = unfinished();
  if (!first) return;
  const start = others.reduce(
    (least, { position }) => (log.compare(position, least) < 0 ? position : least),
    first.position,
  );
  for (let page = await log.readAll(start, PAGE); ;) {
    const last = page.at(-1)?.position;
    if (last === undefined) return;
    const ends = folds.every(({ until }) => log.compare(until, last) <= 0);
    const next = ends ? undefined : log.readAll(last, PAGE);
    // Its error is thrown where it is awaited; until then it needs a handler.
    next?.catch(() => undefined);
    await foldPage(page, unfinished(), options);
    options.onPage?.(page.length, last);
    if (next === undefined || signal.aborted) return;
    page = await next;
  }
}

async function foldPage(
  page: readonly RecordedEvent[],
  folds: readonly ProjectionFold[],
  options: FoldOptions,
): Promise<void> {
  const { log, decode, knownTypes, wants, onEvent } = options;
  const handled: ReadonlySet<string> = new Set(
    folds.flatMap(({ projector }) => [...projector.handles]),
  );
  const mattersTo = (type: string): boolean => !knownTypes.has(type) || handled.has(type);
  const wanted = page.filter((event) => mattersTo(event.type) && (wants?.(event) ?? true));
  const decoded = await decode(wanted);
  if (decoded.length !== wanted.length)
    throw new Error(`${wanted.length} events went into decoding, ${decoded.length} came out`);
  const last = page.at(-1)?.position;
  for (const fold of folds) {
    const { position: from, until } = fold;
    const isWhole = log.compare(last, until) <= 0 && log.compare(from, page[0]?.position) < 0;
    for (const [index, result] of decoded.entries()) {
      if (
        !isWhole &&
        (log.compare(result.position, from) <= 0 || log.compare(result.position, until) > 0)
      )
        continue;
      if ('event' in result) {
        onEvent?.(result);
        fold.apply(result);
      } else {
        const { type = '' } = wanted[index] ?? {};
        if (concerns(fold, type, knownTypes)) fold.applyUndecodable(type, result);
      }
    }
    fold.position = log.compare(last, until) <= 0 ? last : until;
  }
}

/** An event of an unknown type concerns every projection. */
function concerns(
  { projector }: ProjectionFold,
  type: string,
  knownTypes: ReadonlySet<string>,
): boolean {
  const handled: ReadonlySet<string> = projector.handles;
  return handled.has(type) || !knownTypes.has(type);
}
