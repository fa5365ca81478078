import type { Pool } from 'pg';
import type { EventLog, Position } from '../event-log/event-log.js';
import { BatchRows } from './batch-rows.js';
import { parkedStreams, type Checkpoint } from './checkpoints.js';
import { GenerationStore, type ParkedEvent } from './generation-store.js';
import type { Page, PageEvent } from './page.js';
import { CheckpointMoved, describeError, isDataError, StoppedAtUndecodable } from './projecting-errors.js';
import type { LedgerEvent, Projector } from './projector.js';

export const BEHIND_A_PARKED_EVENT = 'follows a parked event of its stream';

/**
 * One generation of one projection on its way along the log: applies pages, each with its checkpoint in one transaction. Knows
 * nothing of who else writes; a lost race shows as `CheckpointMoved`, and `restoreFrom` starts again from what is stored.
 */
export class ProjectionTrack {
  private readonly store: GenerationStore;
  private readonly handles: ReadonlySet<string>;
  private parked = new Set<string>();
  private at: Position | undefined;
  private expectedVersion = '0';

  /**
   * @param knownTypes every type that some projection handles: an undecodable event of a known type stops those that handle it,
   *   one of an unknown type stops all, since nobody can say who would have had to read it.
   */
  constructor(
    private readonly pool: Pool,
    readonly projector: Projector,
    readonly generation: number,
    private readonly log: Pick<EventLog, 'compare'>,
    private readonly knownTypes: ReadonlySet<string>,
  ) {
    this.store = new GenerationStore(pool, projector, generation);
    this.handles = projector.handles;
  }

  get name(): string {
    return this.projector.name;
  }

  /** The last event that is in the rows; undefined: none. */
  get position(): Position | undefined {
    return this.at;
  }

  get version(): string {
    return this.expectedVersion;
  }

  async restoreFrom(checkpoint: Checkpoint): Promise<void> {
    // Read after the checkpoint: whoever changes the parked streams in between raises the version, and the next write fails on it.
    this.parked = new Set(await parkedStreams(this.pool, this.name, this.generation));
    this.at = checkpoint.position;
    this.expectedVersion = checkpoint.version;
  }

  /** Whether the page holds anything that concerns this projection; if not, only its checkpoint has to move. */
  concernedBy(page: Page): boolean {
    return page.events.some((event) => this.concerns(event) && this.isAhead(event.position));
  }

  /** The checkpoint was moved to `position` by another statement, along with those of other projections. */
  movedTo(position: Position): void {
    this.at = position;
    this.expectedVersion = String(BigInt(this.expectedVersion) + 1n);
  }

  /**
   * Applies what is new in the page. An event that cannot be applied parks its stream; everything else is applied.
   * @throws {StoppedAtUndecodable} with everything before that event applied. @throws {CheckpointMoved} with nothing lost.
   * @throws whatever the database throws while it is away: repeat with the next page after the position.
   */
  async apply(page: Page): Promise<void> {
    const start = page.events.findIndex((event) => this.isAhead(event.position));
    const fresh = start < 0 ? [] : page.events.slice(start);
    const stop = fresh.findIndex((event) => event.undecodable !== undefined && this.concerns(event));
    const readable = stop < 0 ? fresh : fresh.slice(0, stop);
    const last = readable.at(-1);
    if (last) {
      const events = readable.flatMap(({ decoded }) => (decoded && this.handles.has(decoded.event.type) ? [decoded] : []));
      await this.applyInOrder(last.position, events);
    }
    const stopped = fresh[stop];
    if (stopped) throw new StoppedAtUndecodable(stopped.position, stopped.undecodable ?? '');
  }

  private concerns({ type, undecodable }: PageEvent): boolean {
    return this.handles.has(type) || (undecodable !== undefined && !this.knownTypes.has(type));
  }

  private looksUp({ event }: LedgerEvent): boolean {
    return this.projector.looksUp?.has(event.type) ?? false;
  }

  private isAhead(position: Position): boolean {
    return this.log.compare(position, this.at) > 0;
  }

  /** What looks rows up by their contents must find them written: each such event begins a batch of its own. */
  private async applyInOrder(position: Position, events: readonly LedgerEvent[]): Promise<void> {
    let rest = events;
    for (;;) {
      const next = rest.findIndex((event, index) => index > 0 && this.looksUp(event));
      const before = rest[next - 1];
      if (next < 0 || !before) return this.applyUpTo(position, rest);
      await this.applyUpTo(before.position, rest.slice(0, next));
      rest = rest.slice(next);
    }
  }

  /** Values that Postgres refuses are found by halving: the halves are applied in order, until one event stands alone and is parked. */
  private async applyUpTo(position: Position, events: readonly LedgerEvent[]): Promise<void> {
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

  /** @param refused why the (single) event is not to be applied but parked. */
  private async write(position: Position, events: readonly LedgerEvent[], refused?: string): Promise<void> {
    const rows = new BatchRows(this.projector.tables);
    const parked: ParkedEvent[] = [];
    const parkedNow = new Set<string>();
    const isParked = (event: LedgerEvent): boolean => this.parked.has(event.stream) || parkedNow.has(event.stream);
    const park = (event: LedgerEvent, reason: string): void => {
      parked.push({ stream: event.stream, revision: event.revision, position: event.position, reason, first: !isParked(event) });
      parkedNow.add(event.stream);
    };

    const unreadable =
      refused === undefined
        ? await this.loadRows(
            rows,
            events.filter((event) => !isParked(event) || this.looksUp(event)),
          )
        : new Map<LedgerEvent, string>();
    for (const event of events) {
      const reason = refused ?? unreadable.get(event);
      if (isParked(event)) {
        park(event, BEHIND_A_PARKED_EVENT);
        // Whoever asked to be forgotten does not wait until somebody has put the stream right.
        if (this.looksUp(event)) rows.attempt(() => this.projector.apply(event, rows));
      } else if (reason !== undefined) park(event, reason);
      else {
        const failure = rows.attempt(() => this.projector.apply(event, rows));
        if (failure) park(event, describeError(failure.failed));
      }
    }

    const batch = { changes: rows.changes(), parked, position, expectedVersion: this.expectedVersion };
    if (!(await this.store.write(batch))) throw new CheckpointMoved(this.name);
    this.movedTo(position);
    for (const stream of parkedNow) this.parked.add(stream);
  }

  /** Loads the rows that these events announce. Returns the events whose keys cannot be told, with the reason. */
  private async loadRows(rows: BatchRows, events: readonly LedgerEvent[]): Promise<Map<LedgerEvent, string>> {
    const unreadable = new Map<LedgerEvent, string>();
    const announce = async (keysOf: (event: LedgerEvent) => ReturnType<Projector['keys']>): Promise<void> => {
      for (const event of events) {
        if (unreadable.has(event)) continue;
        try {
          for (const key of keysOf(event)) rows.announce(key);
        } catch (error) {
          unreadable.set(event, describeError(error));
        }
      }
      for (const { table, row } of await this.store.load(rows.takeAnnounced())) rows.loaded(table, row);
    };
    const { projector } = this;
    await this.lookUp(rows, events);
    await announce((event) => projector.keys(event));
    if (projector.furtherKeys) await announce((event) => projector.furtherKeys?.(event, rows) ?? []);
    return unreadable;
  }

  /** Only the first event of a batch looks up. Twice: what was found may name more. */
  private async lookUp(rows: BatchRows, [first]: readonly LedgerEvent[]): Promise<void> {
    const { projector } = this;
    if (!first || !projector.lookups || !this.looksUp(first)) return;
    const done = new Set<string>();
    for (let round = 0; round < 2; round++) {
      const wanted = projector.lookups(first, rows).filter((lookup) => !done.has(JSON.stringify(lookup)));
      for (const lookup of wanted) done.add(JSON.stringify(lookup));
      for (const { table, row } of await this.store.find(wanted)) rows.found(table, row);
    }
  }
}
