import { backOffMs, pause } from '../../foundation/pause.js';
import type { Doorbell } from '../doorbell.js';
import type { EventStoreDbSessions, Session } from './eventstoredb-sessions.js';

export interface SubscriptionOptions {
  readonly sessions: EventStoreDbSessions;
  readonly doorbell: Doorbell;
  readonly prefix: string;
  readonly onRestart: () => void;
}

const RETRY = { first: 50, max: 2_000 };
const CONFIRMED_WITHIN_MS = 5_000;

/**
 * A live subscription that only rings the doorbell: events are read in pages, so it may be dropped
 * in a burst, end or fall silent, and no event is lost: readers poll as well. One that ends is
 * opened anew, and then every reader reads once. Runs from the first tail on, until it is stopped.
 */
export class EventStoreDbSubscription {
  private readonly ending = new AbortController();
  private running: Promise<void> | undefined;

  constructor(private readonly options: SubscriptionOptions) {}

  start(): void {
    this.running ??= this.keepUp(this.ending.signal);
  }

  stop(): void {
    this.ending.abort();
  }

  private async keepUp(signal: AbortSignal): Promise<void> {
    const { sessions, onRestart } = this.options;
    for (let failures = 0; !signal.aborted; onRestart()) {
      try {
        const session = await sessions.current();
        const wasConfirmed = await this.subscribeOnce(session, signal);
        if (wasConfirmed) failures = 0;
        // A subscription that was dropped or cut is opened again on the same client, which repairs
        // its connection.
        else if (!signal.aborted) await sessions.replace(session);
      } catch {
        // The readers find out what is wrong with the store, and report it.
      }
      if (signal.aborted) return;
      await pause(backOffMs(failures++, RETRY), signal);
    }
  }

  /** Resolves when it ends, for any reason. False when it was never confirmed. */
  private async subscribeOnce({ wire }: Session, signal: AbortSignal): Promise<boolean> {
    const { doorbell, prefix } = this.options;
    let isConfirmed = false;
    let cancel: () => void = () => undefined;
    let isOver = false;
    let unconfirmed: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const end = (): void => resolve();
        signal.addEventListener('abort', end, { once: true });
        unconfirmed = setTimeout(end, CONFIRMED_WITHIN_MS);
        wire
          .subscribe(prefix, {
            confirmed: () => {
              isConfirmed = true;
              clearTimeout(unconfirmed);
              // Wakes the readers for events between their last read and now.
              doorbell.wakeAll();
            },
            event: ({ commit }) => doorbell.ring(commit),
            ended: end,
          })
          .then((stop) => {
            cancel = stop;
            // Abandoned by its caller: without this it would never end.
            if (isOver) stop();
          }, reject);
      });
    } finally {
      isOver = true;
      clearTimeout(unconfirmed);
      cancel();
    }
    return isConfirmed;
  }
}
