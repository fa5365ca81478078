import type { Readable } from 'node:stream';
import { unavailable } from '../edge/api-error.js';
import { rateLimited } from '../edge/call-limit.js';

export interface DownloadLimits {
  /** Downloads at once in this process. */
  readonly all: number;
  /** Of one tenant, both modes together. */
  readonly perTenant: number;
}

/** Each holds about half a MiB. */
export const DOWNLOAD_LIMITS: DownloadLimits = { all: 64, perTenant: 16 };

const RETRY_AFTER_SECONDS = 5;

/**
 * Limits how many files are downloaded at once: a slow client holds memory, and its first bytes a
 * connection to the database. Where all places are taken, the tenant with most of them loses its
 * oldest download to one that has fewer; a client continues that by a range.
 */
export class DownloadPlaces {
  /** By tenant, those that began first come first. */
  private readonly held = new Map<string, Set<Readable>>();
  private count = 0;

  constructor(private readonly limits = DOWNLOAD_LIMITS) {}

  /**
   * Begins a download, which holds its place until it is closed.
   * @throws {ApiError} 429 when the tenant has as many as it may; 503 when all places are taken.
   */
  enter(tenant: string, open: () => Readable): Readable {
    const own = this.held.get(tenant)?.size ?? 0;
    if (own >= this.limits.perTenant) throw rateLimited(RETRY_AFTER_SECONDS);
    if (this.count >= this.limits.all && !this.displaceFor(own))
      throw unavailable(RETRY_AFTER_SECONDS);
    const content = open();
    this.hold(tenant, content);
    content.once('close', () => this.leave(tenant, content));
    return content;
  }

  private hold(tenant: string, content: Readable): void {
    const contents = this.held.get(tenant) ?? new Set();
    this.held.set(tenant, contents.add(content));
    this.count += 1;
  }

  private leave(tenant: string, content: Readable): void {
    const contents = this.held.get(tenant);
    if (!contents?.delete(content)) return;
    this.count -= 1;
    if (contents.size === 0) this.held.delete(tenant);
  }

  /** False: nobody has clearly more than this. */
  private displaceFor(own: number): boolean {
    const [most] = [...this.held].sort(([, a], [, b]) => b.size - a.size);
    const [oldest] = most?.[1] ?? [];
    if (most === undefined || oldest === undefined || most[1].size <= own + 1) return false;
    this.leave(most[0], oldest);
    oldest.destroy(new Error('other tenants wait for a download'));
    return true;
  }
}
