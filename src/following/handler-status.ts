import type { EventLog, Position } from '../event-log/event-log.js';
import { lagAfter, stillSeconds, type Lag } from '../event-log/lag.js';
import type { Follower } from './follower.js';
import type { FollowedPage } from './handler.js';

export type Progress = Pick<Follower<FollowedPage>, 'leads' | 'isDetached' | 'problemOf'>;

/** The part of a handler's state that the process has in memory. */
export interface FollowerRole {
  readonly role: 'leader' | 'standby';
  /** The handler left the common tail, and catches up by itself. */
  readonly detached: boolean;
  /** Why it does not continue; null: it does. */
  readonly lastError: string | null;
}

/** The state of a handler, for the health page and the metrics. */
export interface HandlerStatus extends FollowerRole, Lag {
  readonly position: Position | null;
  /** How long it has not moved although there are events. */
  readonly stillSeconds: number;
}

export const standing = (follower: Progress, name: string): FollowerRole => ({
  role: follower.leads(name) ? 'leader' : 'standby',
  detached: follower.isDetached(name),
  lastError: follower.problemOf(name),
});

/** @throws {EventLogUnavailable} */
export async function handlerStatus(
  { log, now }: { readonly log: EventLog; readonly now: number },
  {
    position,
    movedAt,
  }: { readonly position: Position | undefined; readonly movedAt?: number | undefined },
): Promise<Omit<HandlerStatus, keyof FollowerRole>> {
  const lag = await lagAfter(log, position, await log.head(), now);
  return { position: position ?? null, ...lag, stillSeconds: stillSeconds(lag, movedAt, now) };
}
