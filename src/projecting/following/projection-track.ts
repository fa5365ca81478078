import type { EventLog, Position } from '../../event-log/event-log.js';
import { CheckpointMoved } from '../../following/handler.js';
import type { Logger } from '../../foundation/logger.js';
import { inSpan } from '../../foundation/tracing.js';
import { BatchRows } from '../batch-rows.js';
import type { Checkpoint } from '../checkpoints.js';
import type { BatchToWrite, ParkedEvent, NextPiece } from '../generations/generation-store.js';
import { logParked } from '../log-parked.js';
import type { Page, PageEvent } from '../page.js';
import {
  describeError,
  isDataError,
  parksItsStream,
  StoppedAtUndecodable,
  unreadableBecause,
} from '../projecting-errors.js';
import {
  forgottenBy,
  type Forgotten,
  type LedgerEvent,
  type Projector,
  type UndecodableEvent,
} from '../projector.js';
import { FIRST_PIECE, findPiece, type FoundPiece } from './erasure-pieces.js';
import type { GenerationRows } from './projection-stores.js';

/** Small enough that a piece delays other events no longer than a small batch does. */
const PIECE_ROWS_MAX = 100;

/** Decoded, or parked with its stream. */
type ReadEvent = LedgerEvent | UndecodableEvent;

export interface ProjectionTrackParts {
  /** Of this generation. */
  readonly rows: GenerationRows;
  readonly log: Pick<EventLog, 'compare'>;
  /** Every type that some projection handles. */
  readonly knownTypes: ReadonlySet<string>;
  /** Rows of a piece of an erasure. */
  readonly pieceRowsMax?: number | undefined;
  readonly logger?: Pick<Logger, 'error'> | undefined;
}

/**
 * Applies pages of the log to one generation of one projection, each with its checkpoint in one
 * transaction. Another writer shows as `CheckpointMoved`; `restoreFrom` then starts again from the
 * stored state.
 */
export class ProjectionTrack {
  private readonly handles: ReadonlySet<string>;
  private parked = new Set<string>();
  private at: Position | undefined;
  private expectedVersion = '0';
  /** By position, of the current page. */
  private eventIds: ReadonlyMap<Position, string> = new Map();
  private unfinished = false;

  /**
   * @param knownTypes every type that some projection handles: an undecodable event of a known type
   * concerns its projections, one of an unknown type all.
   * @param pieceRowsMax rows of one piece of an erasure.
   */
  constructor(
    readonly projector: Projector,
    readonly generation: number,
    private readonly parts: ProjectionTrackParts,
  ) {
    this.handles = projector.handles;
  }

  get name(): string {
    return this.projector.name;
  }

  /** The last event that is in the rows; undefined: none. */
  get position(): Position | undefined {
    return this.at;
  }

  async restoreFrom(checkpoint: Checkpoint): Promise<void> {
    // Read after the checkpoint: a concurrent change of the parked streams raises the version, and
    // the next write fails on it.
    this.parked = new Set(await this.parts.rows.parkedStreams());
    this.unfinished = (await this.parts.rows.unfinishedErasure()) !== undefined;
    this.at = checkpoint.position;
    this.expectedVersion = checkpoint.version;
  }

  /**
   * Applies the new events of the page. An event that cannot be decoded or applied parks its
   * stream; everything else is applied.
   * @throws {StoppedAtUndecodable} at an erasure that cannot be decoded, or with too many parked
   * streams, after applying all events before it.
   * @throws {CheckpointMoved} with nothing lost.
   * @throws the database's errors while it is unavailable: repeat with the next page after the
   * position.
   */
  apply(page: Page): Promise<void> {
    const attributes = {
      'ledger.projection': this.name,
      'ledger.generation': this.generation,
      'ledger.events': page.events.length,
    };
    return inSpan(`project ${this.name}`, attributes, () => this.applyNew(page));
  }

  private async applyNew(page: Page): Promise<void> {
    this.eventIds = new Map(page.events.map(({ recorded }) => [recorded.position, recorded.id]));
    const start = page.events.findIndex(({ recorded }) => this.isAhead(recorded.position));
    const fresh = start < 0 ? [] : page.events.slice(start);
    const stop = fresh.findIndex(
      (event) =>
        event.undecodable !== undefined &&
        this.concerns(event) &&
        !parksItsStream(event.recorded.type, this.parked.size),
    );
    const readable = stop < 0 ? fresh : fresh.slice(0, stop);
    const last = readable.at(-1);
    if (last) {
      const events = readable
        .filter((event) => this.concerns(event))
        .flatMap(
          ({ decoded, undecodable }): readonly ReadEvent[] | ReadEvent =>
            decoded ?? undecodable ?? [],
        );
      await this.applyInOrder(last.recorded.position, events);
    }
    const { undecodable: stopped } = fresh[stop] ?? {};
    if (stopped) throw new StoppedAtUndecodable(stopped.position, stopped.undecodable);
  }

  /** An erasure is unfinished: call `cleanNextPiece` until it is complete. */
  get isCleaning(): boolean {
    return this.unfinished;
  }

  /** The position stays. @throws {CheckpointMoved} with nothing lost. */
  async cleanNextPiece(): Promise<void> {
    const erasure = await this.parts.rows.unfinishedErasure();
    const position = this.at;
    if (!erasure || position === undefined) {
      this.unfinished = false;
      return;
    }
    const rows = new BatchRows(this.projector.tables);
    const piece = await this.findPiece(rows, erasure.forgotten, erasure.next);
    await this.loadAnnounced(rows);
    this.projector.forgetting.clean(erasure.forgotten, rows, piece);
    await this.put(rows, {
      parked: [],
      position,
      erasure: { forgotten: erasure.forgotten, next: piece.next },
    });
  }

  private findPiece(rows: BatchRows, forgotten: Forgotten, begin: NextPiece): Promise<FoundPiece> {
    const { forgetting } = this.projector;
    const find = this.parts.rows.find.bind(this.parts.rows);
    return findPiece(find, rows, {
      forgetting,
      forgotten,
      begin,
      rowsMax: this.parts.pieceRowsMax ?? PIECE_ROWS_MAX,
    });
  }

  private concerns({ recorded: { type }, undecodable }: PageEvent): boolean {
    return (
      this.handles.has(type) || (undecodable !== undefined && !this.parts.knownTypes.has(type))
    );
  }

  private isAhead(position: Position): boolean {
    return this.parts.log.compare(position, this.at) > 0;
  }

  /**
   * An erasure looks up rows in the database, so everything before it must be written first: it
   * starts a new batch.
   */
  private async applyInOrder(position: Position, events: readonly ReadEvent[]): Promise<void> {
    let rest = events;
    for (;;) {
      const next = rest.findIndex((event, index) => index > 0 && erasureIn(event) !== undefined);
      const before = rest[next - 1];
      if (next < 0 || !before) return this.applyUpTo(position, rest);
      await this.applyUpTo(before.position, rest.slice(0, next));
      rest = rest.slice(next);
    }
  }

  /**
   * Writes the events as one batch. When Postgres refuses a value, bisects the batch to find the
   * event with that value, and parks it.
   */
  private async applyUpTo(position: Position, events: readonly ReadEvent[]): Promise<void> {
    try {
      await this.write(position, events);
    } catch (error) {
      const [first] = events;
      if (!isDataError(error) || !first) throw error;
      if (events.length === 1) return this.write(position, events, describeError(error));
      const half = events.slice(0, events.length >> 1);
      await this.applyUpTo((half.at(-1) ?? first).position, half);
      await this.applyUpTo(position, events.slice(half.length));
    }
  }

  /** @param refused why the (single) event is parked instead of applied. */
  private async write(
    position: Position,
    events: readonly ReadEvent[],
    refused?: string,
  ): Promise<void> {
    const rows = new BatchRows(this.projector.tables);
    const parked: ParkedEvent[] = [];
    const parkedNow = new Set<string>();
    const isParked = (event: ReadEvent): boolean =>
      this.parked.has(event.stream) || parkedNow.has(event.stream);
    const park = ({ stream, revision, position: at }: ReadEvent, reason: string): void => {
      parked.push({ stream, revision, position: at, reason });
      parkedNow.add(stream);
    };

    const begun = refused === undefined ? await this.beginErasure(rows, events) : undefined;
    const apply = (event: LedgerEvent): void => {
      this.projector.apply(event, rows);
      if (begun?.event === event)
        this.projector.forgetting.clean(begun.forgotten, rows, begun.piece);
    };
    const unreadable =
      refused === undefined
        ? await this.loadRows(
            rows,
            decodedOf(events).filter((event) => !isParked(event) || event === begun?.event),
          )
        : new Map<LedgerEvent, string>();
    for (const event of events) {
      const isErasure = event === begun?.event;
      if (isParked(event)) {
        // An erasure does not wait until the stream is repaired.
        if (isErasure) rows.attempt(() => apply(event), { allowsDamage: true });
        continue;
      }
      if ('undecodable' in event) {
        park(event, unreadableBecause(event));
        continue;
      }
      const reason = refused ?? unreadable.get(event);
      const failure =
        reason === undefined
          ? rows.attempt(() => apply(event), { allowsDamage: isErasure })
          : undefined;
      if (reason !== undefined) park(event, reason);
      else if (failure) park(event, describeError(failure.failed));
    }
    await this.put(rows, {
      parked,
      position,
      erasure: begun && { forgotten: begun.forgotten, next: begun.piece.next },
    });
    for (const stream of parkedNow) this.parked.add(stream);
    const { name: projection, generation } = this;
    logParked(this.parts.logger, { projection, generation }, parked);
  }

  /** An erasure begins a batch, which includes its first piece. */
  private async beginErasure(rows: BatchRows, events: readonly ReadEvent[]) {
    const [event] = decodedOf(events.slice(0, 1));
    const forgotten = event && forgottenBy(event);
    return (
      forgotten && { event, forgotten, piece: await this.findPiece(rows, forgotten, FIRST_PIECE) }
    );
  }

  private async put(
    rows: BatchRows,
    batch: Pick<BatchToWrite, 'parked' | 'position' | 'erasure'>,
  ): Promise<void> {
    const written = await this.parts.rows.write({
      ...batch,
      eventId: this.eventIds.get(batch.position),
      changes: rows.changes(),
      expectedVersion: this.expectedVersion,
    });
    if (!written) throw new CheckpointMoved(this.name);
    this.at = batch.position;
    this.expectedVersion = String(BigInt(this.expectedVersion) + 1n);
    // Another erasure may be unfinished: `cleanNextPiece` finds it.
    if (batch.erasure?.next !== undefined) this.unfinished = true;
  }

  /** Returns the events whose keys cannot be determined, with the reason. */
  private async loadRows(
    rows: BatchRows,
    events: readonly LedgerEvent[],
  ): Promise<Map<LedgerEvent, string>> {
    const unreadable = new Map<LedgerEvent, string>();
    const announce = async (
      keysOf: (event: LedgerEvent) => ReturnType<Projector['keys']>,
    ): Promise<void> => {
      for (const event of events) {
        if (unreadable.has(event)) continue;
        try {
          for (const key of keysOf(event)) rows.announce(key);
        } catch (error) {
          unreadable.set(event, describeError(error));
        }
      }
      await this.loadAnnounced(rows);
    };
    const { projector } = this;
    await announce((event) => projector.keys(event));
    await announce((event) => projector.furtherKeys(event, rows));
    return unreadable;
  }

  private async loadAnnounced(rows: BatchRows): Promise<void> {
    for (const { table, row } of await this.parts.rows.load(rows.takeAnnounced()))
      rows.loaded(table, row);
  }
}

const decodedOf = (events: readonly ReadEvent[]): readonly LedgerEvent[] =>
  events.flatMap((event) => ('undecodable' in event ? [] : [event]));

const erasureIn = (event: ReadEvent): Forgotten | undefined =>
  'undecodable' in event ? undefined : forgottenBy(event);
