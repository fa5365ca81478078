import type { Pool } from 'pg';
import type { Position } from '../../event-log/event-log.js';
import { loadCheckpoint, type HandlerCheckpoint } from '../../following/checkpoints.js';
import { WEBHOOKS_HANDLER } from '../../reacting/parked-reactions.js';
import {
  beginFollowing,
  endpointsIn,
  storeEndpoints,
  storePage,
  storeRead,
  unreadEvents,
  waitingDeliveries,
  type EndpointChange,
  type EndpointName,
  type EndpointState,
  type FollowedPage,
  type ReadEvent,
  type UnreadEvent,
  type WaitingDeliveries,
} from './delivery-rows.js';

/** What the follower of webhooks stores. Every method throws while the store is unavailable. */
export interface AnnouncementsStore {
  /** Undefined: nothing was ever followed here. */
  checkpoint(): Promise<HandlerCheckpoint | undefined>;
  /** The first checkpoint, and the endpoints at it, unless there is a checkpoint by now. */
  begin(position: Position | null, endpoints: readonly EndpointChange[]): Promise<void>;
  /**
   * Rows and checkpoint, both or neither. @returns the new version.
   * @throws {CheckpointMoved}
   */
  storePage(version: bigint, page: FollowedPage): Promise<bigint>;
  endpointsIn(
    states: readonly EndpointState[],
  ): Promise<readonly (EndpointName & { readonly state: EndpointState })[]>;
  /**
   * Endpoints that were looked up in the log. @returns the new version.
   * @throws {CheckpointMoved} also when this arrives late, after another write.
   */
  storeEndpoints(version: bigint, endpoints: readonly EndpointChange[]): Promise<bigint>;
  /** Events that no release here could read yet, oldest first. */
  unreadEvents(limit: number): Promise<readonly UnreadEvent[]>;
  /**
   * An unread event was read: its rows replace it. @returns the new version.
   * @throws {CheckpointMoved}
   */
  storeRead(version: bigint, read: ReadEvent): Promise<bigint>;
  waiting(): Promise<WaitingDeliveries>;
}

export const postgresAnnouncementsStore = (pool: Pool): AnnouncementsStore => ({
  checkpoint: () => loadCheckpoint(pool, WEBHOOKS_HANDLER),
  begin: (position, endpoints) => beginFollowing(pool, position, endpoints),
  storePage: (version, page) => storePage(pool, version, page),
  endpointsIn: (states) => endpointsIn(pool, states),
  storeEndpoints: (version, endpoints) => storeEndpoints(pool, version, endpoints),
  unreadEvents: (limit) => unreadEvents(pool, limit),
  storeRead: (version, read) => storeRead(pool, version, read),
  waiting: () => waitingDeliveries(pool),
});
