import type { EventLog } from '../../event-log/event-log.js';
import { Follower, type FollowerOptions } from '../../following/follower.js';
import type { StoredPosition } from '../../following/handler.js';
import { standing, type Progress, type FollowerRole } from '../../following/handler-status.js';
import type { Logger } from '../../foundation/logger.js';
import { timeNow } from '../../foundation/world.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import { decodePage, type Page } from '../page.js';
import type { DecodeEvents, Projector } from '../projector.js';
import { ProjectionHandler } from './projection-handler.js';
import type { ProjectionStatus } from './projection-status.js';
import type { ProjectionStores } from './projection-stores.js';

export interface ProjectionsOptions {
  readonly stores: ProjectionStores;
  readonly log: EventLog;
  readonly decode: DecodeEvents;
  readonly projectors: readonly Projector[];
  readonly generations: Pick<LiveGenerations, 'refresh' | 'generationOf'>;
  /** Rows of one piece of an erasure. Default 100. */
  readonly pieceRowsMax?: number;
  readonly logger?: Logger;
}

/** The read models of this release and their handlers. */
export class Projections {
  readonly names: readonly string[];
  readonly handlers: readonly ProjectionHandler[];
  /** Options of a follower with these handlers. */
  readonly following: Pick<
    FollowerOptions<Page>,
    'log' | 'locks' | 'decode' | 'prepare' | 'refresh' | 'stored'
  >;

  constructor(private readonly options: ProjectionsOptions) {
    const { stores, log, projectors, generations, decode, pieceRowsMax, logger } = options;
    const knownTypes = new Set(projectors.flatMap(({ handles }) => [...handles]));
    const parts = { stores, log, generations, knownTypes, pieceRowsMax, logger };
    this.names = projectors.map(({ name }) => name);
    this.handlers = projectors.map((projector) => new ProjectionHandler(projector, parts));
    this.following = {
      log,
      locks: stores.locks,
      decode: (recorded) => decodePage(recorded, decode),
      prepare: () => stores.ensureGenerations(),
      refresh: () => generations.refresh(),
      stored: (names) => this.stored(names),
    };
  }

  /** In their order. @throws when the database or the log is unavailable. */
  async status(follower: Progress): Promise<(ProjectionStatus & FollowerRole)[]> {
    const { stores, log } = this.options;
    const rows = await stores.status(log, timeNow());
    const ordered = this.names.flatMap((name) =>
      rows.filter(({ projection }) => projection === name),
    );
    return ordered.map((row) => {
      const known = standing(follower, row.projection);
      return { ...row, ...known, lastError: known.lastError ?? row.lastError };
    });
  }

  private async stored(names: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>> {
    const { stores, projectors, generations } = this.options;
    const checkpoints = await stores.checkpoints(
      projectors.filter(({ name }) => names.includes(name)),
    );
    // Waiting callers must read the generation that they waited for, not its predecessor.
    const known = checkpoints.every(
      ({ projection, generation }) => generations.generationOf(projection) === generation,
    );
    if (!known) await generations.refresh().catch(() => undefined);
    return new Map(
      checkpoints.flatMap(({ projection, generation, position }) =>
        position === undefined
          ? []
          : [
              [
                projection,
                // Of two generations one may lag.
                { position, counts: () => generations.generationOf(projection) === generation },
              ],
            ],
      ),
    );
  }
}

/** A follower of these projections alone. */
export const followProjections = (
  { handlers, following }: Projections,
  options: Omit<FollowerOptions<Page>, keyof Projections['following'] | 'handlers'>,
): Follower<Page> => new Follower({ ...following, ...options, handlers });
