import type { Position } from '../../event-log/event-log.js';
import type { Handler } from '../../following/handler.js';
import type { LiveGenerations } from '../generations/live-generations.js';
import type { Page } from '../page.js';
import { describeError, StoppedAtUndecodable } from '../projecting-errors.js';
import type { Projector } from '../projector.js';
import type { ProjectionStores } from './projection-stores.js';
import { ProjectionTrack, type ProjectionTrackParts } from './projection-track.js';

export interface ProjectionHandlerParts extends Pick<
  ProjectionTrackParts,
  'log' | 'knownTypes' | 'pieceRowsMax'
> {
  readonly stores: ProjectionStores;
  readonly generations: Pick<LiveGenerations, 'refresh' | 'generationOf'>;
  readonly logger?: (ProjectionTrackParts['logger'] & { info: LogLine }) | undefined;
}

type LogLine = (fields: object, message: string) => void;

/** Another generation became live: the projection continues with that one. */
class AnotherGeneration extends Error {
  override readonly name = 'AnotherGeneration';
}

/** Keeps the live generation of one projection up to date. */
export class ProjectionHandler implements Handler<Page> {
  private track: ProjectionTrack | undefined;

  constructor(
    private readonly projector: Projector,
    private readonly parts: ProjectionHandlerParts,
  ) {}

  get name(): string {
    return this.projector.name;
  }

  get position(): Position | undefined {
    return this.track?.position;
  }

  get isBusy(): boolean {
    return this.track?.isCleaning ?? false;
  }

  async begin(): Promise<void> {
    const { stores, generations, log, knownTypes, pieceRowsMax, logger } = this.parts;
    const { projector } = this;
    await generations.refresh();
    const generation = generations.generationOf(projector.name);
    const [checkpoint] = await stores.checkpoints([projector]);
    if (generation === undefined || checkpoint?.generation !== generation)
      throw new AnotherGeneration(`another generation of ${projector.name} became live`);
    const rows = stores.rowsOf(projector, generation);
    const track = new ProjectionTrack(projector, generation, {
      rows,
      log,
      knownTypes,
      pieceRowsMax,
      logger,
    });
    await track.restoreFrom(checkpoint);
    this.track = track;
  }

  async take(page: Page): Promise<void> {
    await this.track?.apply(page);
  }

  async workOn(): Promise<void> {
    await this.track?.cleanNextPiece();
    if (!this.isBusy)
      this.parts.logger?.info({ projection: this.name }, 'erased people are removed from all rows');
  }

  isOutdated(): boolean {
    return this.track?.generation !== this.parts.generations.generationOf(this.name);
  }

  describe(error: unknown): string {
    return describeError(error);
  }

  isLasting(error: unknown): boolean {
    return error instanceof StoppedAtUndecodable;
  }

  async noteError(text: string): Promise<void> {
    // Fails while the database is unavailable; the error then stays in memory only.
    await this.parts.stores
      .recordLastError(this.name, this.track?.generation ?? 0, text)
      .catch(() => undefined);
  }
}
