import type { Pool } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import { AdvisoryLocks, type Locks } from '../../postgres/leadership.js';
import {
  beginFollowing,
  endpointsIn,
  loadFollowerCheckpoint,
  putEndpoints,
  storePage,
  storeRead,
  unreadEvents,
  waitingDeliveries,
  type EndpointChange,
  type EndpointName,
  type EndpointState,
  type FollowedPage,
  type FollowerCheckpoint,
  type NewDelivery,
  type UnreadEvent,
} from './delivery-rows.js';

/** What the follower of webhooks stores. Every method throws while the store is unavailable. */
export interface FollowerStore {
  readonly locks: Locks;
  /** Undefined: nothing was ever followed here. */
  checkpoint(): Promise<FollowerCheckpoint | undefined>;
  /** The first checkpoint, unless there is one by now. */
  begin(position: Position | null): Promise<void>;
  /**
   * Rows and checkpoint, both or neither. @returns the new version.
   * @throws {AnotherFollower}
   */
  storePage(version: bigint, page: FollowedPage): Promise<bigint>;
  endpointsIn(
    states: readonly EndpointState[],
  ): Promise<readonly (EndpointName & { readonly state: EndpointState })[]>;
  putEndpoints(changes: readonly EndpointChange[]): Promise<void>;
  /** Events that no release here could read yet, oldest first. */
  unreadEvents(limit: number): Promise<readonly Omit<UnreadEvent, 'reason'>[]>;
  /** An unread event was read: its rows replace it. */
  storeRead(eventId: string, deliveries: readonly NewDelivery[]): Promise<void>;
  /** How many wait, up to a bound, and since when, epoch milliseconds. */
  waiting(): Promise<{ readonly waiting: number; readonly oldest: number | undefined }>;
}

/** @param pool one of its connections is kept while the follower runs: it holds the lock. */
export const postgresFollowerStore = (pool: Pool): FollowerStore => ({
  locks: new AdvisoryLocks(pool),
  checkpoint: () => loadFollowerCheckpoint(pool),
  begin: (position) => beginFollowing(pool, position),
  storePage: (version, page) => storePage(pool, version, page),
  endpointsIn: (states) => endpointsIn(pool, states),
  putEndpoints: (changes) => putEndpoints(pool, changes),
  unreadEvents: (limit) => unreadEvents(pool, limit),
  storeRead: (eventId, deliveries) => storeRead(pool, eventId, deliveries),
  waiting: () => waitingDeliveries(pool),
});
