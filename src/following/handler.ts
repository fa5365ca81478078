import type { Position } from '../event-log/event-log.js';

/** A part of the log, read and decoded once for all handlers. Never empty. */
export interface FollowedPage {
  readonly last: Position;
  readonly lastEventId: string;
}

/** A time in which this process leads a handler. */
export interface HandlerTurn {
  readonly signal: AbortSignal;
  /** Reports that work between two pages failed: the handler begins again. */
  fail(error: unknown): void;
  /** Reports that work succeeded: an earlier failure is over. */
  succeed(): void;
  /** Reports a waiting caller: the follower does not pause. */
  hurry(): void;
}

/**
 * Part of the service that follows the log: a projection, the reactions, the announcements, the
 * seals. One process leads it. It stores its own checkpoint, and writes it only from the checkpoint
 * that it read.
 */
export interface Handler<Page extends FollowedPage> {
  readonly name: string;
  /** The last event that it has taken since `begin`; undefined: none. */
  readonly position: Position | undefined;
  /** It works on pages after it has taken them, and reports when that succeeded. */
  readonly worksLater?: boolean;
  /** Callers wait for it. */
  readonly isAwaited?: boolean;
  /** Loads what is stored: when this process begins to lead it, and after a failure. */
  begin(turn: HandlerTurn): Promise<void>;
  /** Takes the events after its position, which moves to the page's end or stays after it. */
  take(page: Page): Promise<void>;
  /**
   * There is work to do between pages (`workOn`); until it is done the handler stays off the tail.
   */
  readonly isBusy?: boolean;
  workOn?(): Promise<void>;
  /** True when a change outside the log requires it to begin again. */
  isOutdated?(): boolean;
  /** Completes work in progress at the end of the turn. Does not reject. */
  end?(): Promise<void>;
  /** A line without personal data. */
  describe(error: unknown): string;
  /** No retry of this release can succeed. */
  isLasting?(error: unknown): boolean;
  /** Records the error for other processes. Does not reject. */
  noteError?(text: string): Promise<void>;
}

/** A position that the leading process has stored. */
export interface StoredPosition {
  readonly position: Position;
  /** Whether it is still valid; missing: always. */
  readonly counts?: () => boolean;
}

/** Another leader or an operator moved the checkpoint since this process read it. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
  constructor(readonly handler: string) {
    super(`the checkpoint of ${handler} was moved by another writer`);
  }
}
