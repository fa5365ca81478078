import type { Readable } from 'node:stream';
import { unavailable } from '../edge/api-error.js';
import { rateLimited } from '../limits/call-limit.js';

export interface DownloadLimits {
  /** Concurrent downloads in this process. */
  readonly all: number;
  /** Per holder: a tenant with both modes, or an operator. */
  readonly perHolder: number;
}

/** A download holds about half a MiB. */
export const DOWNLOAD_LIMITS: DownloadLimits = { all: 64, perHolder: 16 };

const RETRY_AFTER_SECONDS = 5;

/** Limits concurrent downloads, because a slow client holds memory. */
export class DownloadPlaces {
  private readonly held = new Map<string, number>();
  private count = 0;

  /** @param taken why there is no place. */
  constructor(
    private readonly limits: DownloadLimits = DOWNLOAD_LIMITS,
    private readonly taken?: string,
  ) {}

  /**
   * Begins a download, which occupies a place until it is closed.
   * @throws {ApiError} 429 when the holder has too many; 503 when all places are taken.
   */
  enter(holder: string, open: () => Readable): Readable {
    const { all, perHolder } = this.limits;
    if ((this.held.get(holder) ?? 0) >= perHolder)
      throw rateLimited(`at most ${perHolder} downloads at the same time`, RETRY_AFTER_SECONDS);
    if (this.count >= all) throw unavailable(RETRY_AFTER_SECONDS, this.taken);
    const content = open();
    this.note(holder, 1);
    content.once('close', () => this.note(holder, -1));
    return content;
  }

  private note(holder: string, more: 1 | -1): void {
    const held = (this.held.get(holder) ?? 0) + more;
    this.count += more;
    if (held > 0) this.held.set(holder, held);
    else this.held.delete(holder);
  }
}
