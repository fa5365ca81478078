import type { Readable } from 'node:stream';
import { unavailable } from '../edge/api-error.js';
import { rateLimited } from '../limits/call-limit.js';

export interface DownloadLimits {
  /** Downloads at once in this process. */
  readonly all: number;
  /** Of one holder: a tenant, both modes together, or an operator. */
  readonly perHolder: number;
}

/** Each holds about half a MiB. */
export const DOWNLOAD_LIMITS: DownloadLimits = { all: 64, perHolder: 16 };

const RETRY_AFTER_SECONDS = 5;

/**
 * Limits how many files are downloaded at once: a slow client holds memory, and its first bytes a
 * connection to the database. Where all places are taken, the holder with most of them loses its
 * oldest download to one that has fewer; a client continues that by a range.
 */
export class DownloadPlaces {
  /** By holder, those that began first come first. */
  private readonly held = new Map<string, Set<Readable>>();
  private count = 0;

  constructor(private readonly limits: DownloadLimits = DOWNLOAD_LIMITS) {}

  /**
   * Begins a download, which holds its place until it is closed.
   * @throws {ApiError} 429 when the holder has as many as it may; 503 when all places are taken.
   */
  enter(holder: string, open: () => Readable): Readable {
    const own = this.held.get(holder)?.size ?? 0;
    const { perHolder } = this.limits;
    if (own >= perHolder)
      throw rateLimited(`at most ${perHolder} downloads at the same time`, RETRY_AFTER_SECONDS);
    if (this.count >= this.limits.all && !this.displaceFor(own))
      throw unavailable(RETRY_AFTER_SECONDS);
    const content = open();
    this.hold(holder, content);
    content.once('close', () => this.leave(holder, content));
    return content;
  }

  private hold(holder: string, content: Readable): void {
    const contents = this.held.get(holder) ?? new Set();
    this.held.set(holder, contents.add(content));
    this.count += 1;
  }

  private leave(holder: string, content: Readable): void {
    const contents = this.held.get(holder);
    if (!contents?.delete(content)) return;
    this.count -= 1;
    if (contents.size === 0) this.held.delete(holder);
  }

  /** False: nobody has clearly more than this. */
  private displaceFor(own: number): boolean {
    const [most] = [...this.held].sort(([, a], [, b]) => b.size - a.size);
    const [oldest] = most?.[1] ?? [];
    if (most === undefined || oldest === undefined || most[1].size <= own + 1) return false;
    this.leave(most[0], oldest);
    oldest.destroy(new Error('others wait for a download'));
    return true;
  }
}
