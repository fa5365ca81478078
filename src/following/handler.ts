import type { Position } from '../event-log/event-log.js';

/** A section of the log, read and decoded once for all handlers. Never empty. */
export interface FollowedPage {
  readonly last: Position;
  readonly lastEventId: string;
}

/** A time in which this process leads a handler. */
export interface HandlerTurn {
  /** Aborts at its end. */
  readonly signal: AbortSignal;
  /** Work of the handler failed between two pages: it begins again. */
  fail(error: unknown): void;
  /** Work of the handler succeeded: an earlier failure is over. */
  succeed(): void;
  /** A caller waits for the handler: the follower does not rest. */
  hurry(): void;
}

/**
 * Part of the service that follows the log: a projection, the reactions, the announcements, the
 * seals. Of all processes one leads it. It stores its own checkpoint, and writes it only from the
 * checkpoint that it read.
 */
export interface Handler<Page extends FollowedPage> {
  /** Its lock. */
  readonly name: string;
  /** The last event that it has taken since `begin`; undefined: none. */
  readonly position: Position | undefined;
  /** Whether it works on pages after it has taken them, and reports when that succeeded. */
  readonly worksLater?: boolean;
  /** Whether callers wait for it. */
  readonly isAwaited?: boolean;
  /** Loads what is stored: when this process begins to lead it, and after a failure. */
  begin(turn: HandlerTurn): Promise<void>;
  /**
   * Takes the events of the page that are behind its position; afterwards the position is the end
   * of the page, or behind it. After an error it begins again.
   */
  take(page: Page): Promise<void>;
  /** Work between its pages, during which it does not follow the tail. */
  readonly isBusy?: boolean;
  workOn?(): Promise<void>;
  /** Whether something else than its events asks it to begin again. */
  isOutdated?(): boolean;
  /** Finishes what it has begun: the turn is over. Does not reject. */
  end?(): Promise<void>;
  /** A line without personal data. */
  describe(error: unknown): string;
  /** Whether no retry of this release succeeds. */
  isLasting?(error: unknown): boolean;
  /** Records the error for other processes. Does not reject. */
  noteError?(text: string): Promise<void>;
}

/** A position that the leading process has stored. */
export interface StoredPosition {
  readonly position: Position;
  /** Whether it still counts; missing: always. */
  readonly counts?: () => boolean;
}

/**
 * The stored checkpoint is another one than this process last read or wrote: another process leads,
 * or an operator has moved it.
 */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
  constructor(readonly handler: string) {
    super(`the checkpoint of ${handler} was moved by another writer`);
  }
}
