import { backOffMs, pause } from '../../foundation/pause.js';
import type { Doorbell } from '../doorbell.js';
import type { EventStoreDbSessions, Session } from './eventstoredb-sessions.js';
import type { EventStoreDbWire } from './eventstoredb-wire.js';

export interface SubscriptionOptions {
  readonly sessions: EventStoreDbSessions;
  readonly doorbell: Doorbell;
  readonly prefix: string;
  /** An event that is not reported within this time shows that the subscription is broken. */
  readonly deafAfterMs: number;
  readonly onRestart: () => void;
}

const RETRY = { first: 50, max: 2_000 };

/**
 * A live subscription as a signal only: events are read in pages, so it may be dropped, end or fall
 * silent without losing events. It is then opened anew, and every reader reads once. Runs while it
 * has listeners.
 */
export class EventStoreDbSubscription {
  private listeners = 0;
  private ending: AbortController | undefined;
  private heard = 0n;
  private awaited = 0n;
  private watch: NodeJS.Timeout | undefined;
  private restart: () => void = () => undefined;

  constructor(private readonly options: SubscriptionOptions) {}

  /** Keeps the subscription open until the returned function is called. */
  listen(): () => void {
    this.listeners += 1;
    if (this.listeners === 1) this.start();
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.listeners -= 1;
      if (this.listeners === 0) this.stop();
    };
  }

  stop(): void {
    this.ending?.abort();
    this.ending = undefined;
    clearTimeout(this.watch);
    this.watch = undefined;
  }

  /** The log has an event at this commit position: a working subscription will report it. */
  expect(commit: bigint): void {
    if (commit > this.awaited) this.awaited = commit;
    if (this.ending === undefined || this.watch !== undefined || this.awaited <= this.heard) return;
    const awaited = this.awaited;
    this.watch = setTimeout(() => {
      this.watch = undefined;
      if (this.heard < awaited) this.restart();
      else this.expect(this.awaited);
    }, this.options.deafAfterMs);
    this.watch.unref();
  }

  private start(): void {
    const ending = new AbortController();
    this.ending = ending;
    void this.keepUp(ending.signal);
  }

  private async keepUp(signal: AbortSignal): Promise<void> {
    const { sessions, onRestart } = this.options;
    for (let failures = 0; !signal.aborted; onRestart()) {
      let session: Session | undefined;
      try {
        session = await sessions.current();
        const wasHeard = await this.subscribeOnce(session, signal);
        if (wasHeard) failures = 0;
        // A dropped subscription is reopened on the same client, which repairs its connection; a
        // broken one needs a new client.
        else if (!signal.aborted) await sessions.replace(session);
      } catch {
        // The readers report what is wrong with the store.
      }
      if (signal.aborted) return;
      await pause(backOffMs(failures++, RETRY), signal);
    }
  }

  /** Existing events are never reported, and so prove nothing about the subscription. */
  private async skipExisting(wire: EventStoreDbWire): Promise<void> {
    try {
      const { events } = await wire.read(
        { of: { prefixes: null, from: 'end' }, backwards: true, count: 1 },
        this.options.deafAfterMs,
      );
      const [newest] = events;
      if (newest !== undefined && newest.position.commit > this.heard)
        this.heard = newest.position.commit;
    } catch {
      // A false alarm costs one more reopening.
    }
  }

  /** Resolves when it ends, for any reason. False: never confirmed, or broken. */
  private async subscribeOnce({ wire }: Session, signal: AbortSignal): Promise<boolean> {
    const { doorbell, prefix, deafAfterMs } = this.options;
    let isConfirmed = false;
    let cancel: () => void = () => undefined;
    let isOver = false;
    let unconfirmed: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const end = (): void => resolve();
        signal.addEventListener('abort', end, { once: true });
        this.restart = () => {
          isConfirmed = false;
          end();
        };
        unconfirmed = setTimeout(end, deafAfterMs);
        wire
          .subscribe(prefix, {
            confirmed: () => {
              isConfirmed = true;
              clearTimeout(unconfirmed);
              this.heard = this.awaited;
              // For events between the readers' last read and now.
              doorbell.wakeAll();
              void this.skipExisting(wire);
            },
            event: ({ commit }) => {
              if (commit > this.heard) this.heard = commit;
              doorbell.ring(commit);
            },
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
      this.restart = () => undefined;
      cancel();
    }
    return isConfirmed;
  }
}
